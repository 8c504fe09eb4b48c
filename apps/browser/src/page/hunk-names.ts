/** A part of a file that has one resource: a document, or an item of a list. */
interface ResourcePart {
  /** Of its first line, from 1. */
  start: number;
  kind: string;
  name: string;
}

/** Resources that are named in one header, and characters of each. */
const MAX_NAMES = 3;
const MAX_LENGTH = 100;
/** Characters of a line that are read. */
const MAX_LINE = 500;

/**
 * Adds to the header of each hunk which resources its changed lines belong to, as `git diff` does with functions: the
 * lines around a change often do not have the name.
 */
export function nameHunks(lines: readonly string[], before: string, after: string): string[] {
  const parts = { '-': partFinder(resourceParts(before)), '+': partFinder(resourceParts(after)) };
  const named = [...lines];
  let header = -1;
  let at = { '-': 0, '+': 0 };
  let names = new Set<string>();
  const finish = () => {
    if (header >= 0 && names.size > 0) named[header] += ` ${describe([...names])}`;
  };
  for (const [index, line] of lines.entries()) {
    const range = /^@@ -(\d+)\S* \+(\d+)/.exec(line);
    if (range !== null) {
      finish();
      header = index;
      at = { '-': Number(range[1]), '+': Number(range[2]) };
      names = new Set();
      continue;
    }
    const [mark] = line;
    if (mark === '-' || mark === '+') {
      const { kind, name } = parts[mark](at[mark]);
      if (kind !== '') names.add(`${kind} ${name}`.trim());
    }
    if (mark !== '+') at['-'] += 1;
    if (mark !== '-') at['+'] += 1;
  }
  finish();
  return named;
}

/** Returns a function that finds the part of a line. Its lines ascend, so that all of them take one walk. */
function partFinder(parts: readonly ResourcePart[]): (line: number) => ResourcePart {
  let found = 0;
  return (line) => {
    while (parts[found + 1] !== undefined && parts[found + 1]!.start <= line) found += 1;
    return parts[found]!;
  };
}

function describe(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => name.slice(0, MAX_LENGTH));
  return names.length > MAX_NAMES ? `${shown.join(', ')}, …` : shown.join(', ');
}

/** Finds the resources by the lines that they usually have. One in another style has no name. */
function resourceParts(text: string): ResourcePart[] {
  const parts: ResourcePart[] = [{ start: 1, kind: '', name: '' }];
  let metadata = -1;
  for (const [index, whole] of text.split('\n').entries()) {
    const line = whole.slice(0, MAX_LINE);
    const isItem = /^ *- (?:apiVersion|kind|metadata):/.test(line);
    if (isItem || line.startsWith('---')) {
      parts.push({ start: index + 1, kind: '', name: '' });
      metadata = -1;
    }
    const field = /^([ -]*)(kind|metadata|name):[ ]*(.*)$/.exec(line);
    if (field === null) continue;
    const part = parts.at(-1)!;
    const [, { length: indentation }, key, value] = field as unknown as [string, string, string, string];
    const plain = value.replace(/\s+#.*$/, '').replaceAll(/^["']|["']$/g, '');
    if (key === 'kind' && part.kind === '') part.kind = plain;
    else if (key === 'metadata' && metadata < 0) metadata = indentation;
    else if (key === 'name' && part.name === '' && metadata >= 0 && indentation > metadata) part.name = plain;
  }
  return parts;
}
