/**
 * Reads the files of Starlark test suites: chunks separated by `---` lines, in which `###` says which error is
 * expected. Two formats exist. In that of starlark-go, the expectation is a quoted regular expression for its own line,
 * and `option:NAME` turns on a part of the dialect. In that of bazelbuild/starlark, it is a bare expression for the
 * chunk, without regard to case, and `go:`, `java:` or `rust:` before it names the implementation that it is for.
 */
export interface Chunk {
  file: string;
  /** Of the first line of the chunk in its file, from 1. */
  line: number;
  /** With empty lines before it, so that positions are those of the file. */
  source: string;
  expected: Expectation[];
  /** Parts of the dialect that the chunk turns on. */
  options: ReadonlySet<string>;
}

export interface Expectation {
  pattern: RegExp;
  /** As written. */
  text: string;
  /** Where it is written, from 1. */
  line: number;
  /** The error has to be on this line. */
  isOnLine: boolean;
}

/** Whether a file has the format of starlark-go or that of bazelbuild/starlark. */
export type ChunkFormat = 'quoted' | 'bare';

export interface ChunkFile {
  format: ChunkFormat;
  chunks: Chunk[];
}

const MARK = '###';
/** Implementations that an expectation can be for; ours follows starlark-go. */
const IMPLEMENTATION = /^(go|java|rust):\s*/;

/** Splits a file into chunks. Throws for an expectation that is not a regular expression. */
export function readChunks(file: string, text: string): ChunkFile {
  const lines = text.split(/\r?\n/);
  const marks = lines.flatMap((line) =>
    line.includes(MARK) ? [line.slice(line.indexOf(MARK) + 3).trim()] : [],
  );
  const isQuoted =
    marks.some((mark) => unquote(mark) !== undefined) || /^load\(['"]assert\.star['"]/m.test(text);
  const format: ChunkFormat = isQuoted ? 'quoted' : 'bare';
  const chunks: Chunk[] = [];
  let start = 0;
  for (let index = 0; index <= lines.length; index++) {
    if (index < lines.length && lines[index]!.trimEnd() !== '---') continue;
    chunks.push(readChunk(file, lines.slice(start, index), start, format));
    start = index + 1;
  }
  return { format, chunks };
}

function readChunk(file: string, lines: readonly string[], start: number, format: ChunkFormat): Chunk {
  const expected = lines.flatMap((line, index): Expectation[] => {
    const at = line.indexOf(MARK);
    if (at === -1) return [];
    return readExpectation(file, line.slice(at + MARK.length).trim(), start + index + 1, format);
  });
  const body = lines.join('\n');
  return {
    file,
    line: start + 1,
    source: '\n'.repeat(start) + body + (body.endsWith('\n') ? '' : '\n'),
    expected,
    options: new Set([...body.matchAll(/option:(\w+)/g)].map(([, name]) => name!)),
  };
}

function readExpectation(file: string, text: string, line: number, format: ChunkFormat): Expectation[] {
  const quoted = unquote(text);
  if (quoted !== undefined)
    return [{ pattern: expression(file, line, quoted, ''), text, line, isOnLine: true }];
  if (format === 'quoted') throw new Error(`${file}:${line}: the expected error is not quoted: ${text}`);
  const [prefix, implementation] = IMPLEMENTATION.exec(text) ?? ['', undefined];
  if (implementation !== undefined && implementation !== 'go') return [];
  const bare = text.slice(prefix.length);
  return [{ pattern: expression(file, line, bare, 'i'), text: bare, line, isOnLine: false }];
}

function expression(file: string, line: number, source: string, flags: string): RegExp {
  const [, own = ''] = /^\(\?([is]+)\)/.exec(source) ?? [];
  const body = own === '' ? source : source.slice(own.length + 3);
  try {
    return new RegExp(body, [...new Set(flags + own)].join(''));
  } catch (error) {
    throw new Error(`${file}:${line}: not a regular expression: ${source}`, { cause: error });
  }
}

/** Returns the value of a string literal of Go; undefined if the text is none. */
function unquote(text: string): string | undefined {
  if (/^`[^`]*`$/.test(text)) return text.slice(1, -1);
  if (!/^"(?:[^"\\]|\\.)*"$/.test(text)) return undefined;
  return text
    .slice(1, -1)
    .replace(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/g, unescapeOne);
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
};

function unescapeOne(_: string, ...groups: (string | undefined)[]): string {
  const code = groups[0] ?? groups[1] ?? groups[2];
  if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
  return ESCAPES[groups[3]!] ?? groups[3]!;
}
