import {
  Builtin,
  EvaluationError,
  List,
  listElements,
  Module,
  str,
  unpackArguments,
  wantSmallInt,
  wantString,
} from '@krmhub/starlark';

/**
 * The module `csv`: `read_all(source, comma, comment, skip)` and `write_all(source, comma)` of lists of rows (RFC
 * 4180).
 */
export const CSV = new Module('csv', [
  [
    'read_all',
    new Builtin('read_all', (thread, args, kwargs) => {
      const parameters = ['source', 'comma?', 'comment?', 'skip?'];
      const [source, comma = ',', comment = '', skip = 0] = unpackArguments(
        'read_all',
        args,
        kwargs,
        parameters,
      );
      const text = wantString('read_all', 'source', source!);
      thread.step(text.length);
      thread.allocate(text.length * 16);
      const rows = readRows(text, separator('read_all', comma), wantString('read_all', 'comment', comment));
      return new List(rows.slice(wantSmallInt('read_all', 'skip', skip)).map((row) => new List(row)));
    }),
  ],
  [
    'write_all',
    new Builtin('write_all', (thread, args, kwargs) => {
      const [source, comma = ','] = unpackArguments('write_all', args, kwargs, ['source', 'comma?']);
      const between = separator('write_all', comma);
      const lines = listElements(source!, thread).map((row) => {
        const fields = listElements(row, thread).map((field) => {
          const text = typeof field === 'string' ? field : str(field, thread);
          // Before it is built. Quotes may be doubled.
          thread.step(text.length);
          thread.allocate(text.length * 2 + 3);
          return quoted(text, between);
        });
        return `${fields.join(between)}\n`;
      });
      return lines.join('');
    }),
  ],
]);

function separator(name: string, value: Parameters<typeof wantString>[2]): string {
  const text = wantString(name, 'comma', value);
  if ([...text].length === 1 && !/["\r\n]/.test(text)) return text;
  throw new EvaluationError(`${name}: for parameter comma: want one character`);
}

function quoted(field: string, comma: string): string {
  if (!field.includes(comma) && !/["\r\n]|^\s/.test(field)) return field;
  return `"${field.replaceAll('"', '""')}"`;
}

function readRows(text: string, comma: string, comment: string): string[][] {
  const rows: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const end = lineEnd(text, at);
    const line = text.slice(at, end.at);
    if (line === '' || (comment !== '' && line.startsWith(comment))) {
      at = end.next;
      continue;
    }
    const row: string[] = [];
    at = readRow(text, at, comma, row);
    rows.push(row);
  }
  return rows;
}

/** Returns where the next row starts. */
function readRow(text: string, start: number, comma: string, row: string[]): number {
  let at = start;
  while (true) {
    let field = '';
    if (text[at] === '"') {
      const closing = closingQuote(text, at + 1);
      field = text.slice(at + 1, closing).replaceAll('""', '"');
      at = closing + 1;
      if (at < text.length && !text.startsWith(comma, at) && !/[\r\n]/.test(text[at]!)) {
        throw new EvaluationError('read_all: text after a quoted field');
      }
    } else {
      const end = lineEnd(text, at).at;
      const next = text.indexOf(comma, at);
      const stop = next === -1 || next > end ? end : next;
      field = text.slice(at, stop);
      if (field.includes('"')) throw new EvaluationError('read_all: a quote in a field without quotes');
      at = stop;
    }
    row.push(field);
    if (!text.startsWith(comma, at) || at >= text.length) return lineEnd(text, at).next;
    at += comma.length;
  }
}

function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  if (at === -1) throw new EvaluationError('read_all: a quoted field has no end');
  return at;
}

function lineEnd(text: string, from: number): { at: number; next: number } {
  const found = text.indexOf('\n', from);
  if (found === -1) return { at: text.length, next: text.length };
  return { at: text[found - 1] === '\r' && found > from ? found - 1 : found, next: found + 1 };
}
