import type { JsonValue } from '@krmhub/schema/definition';
import { quote } from '@krmhub/schema/diagnostics/quote';
import { type ReadResults, readOutputYaml, readResults, readResultsText } from './function-result.js';

/**
 * What a function wrote. `what` names output that is not a ResourceList, to follow the word "is".
 *
 * The output is checked as far as the runner needs it, and its bytes are passed on unchanged: only the top level is
 * read, and `results`. Resources may have what the limits for catalogs refuse: large integers, tags, any depth.
 */
export type FunctionOutput =
  | { type: 'resource-list'; results: ReadResults }
  | { type: 'empty' }
  | { type: 'not-text' }
  | { type: 'other'; what: string };

/** A key at the top level, and the offsets of its line and of what follows its value. */
interface Section {
  key: string;
  start: number;
  end: number;
}

/** A line that begins at column 0 and is not a comment: a marker, an item of a list, a key, or something else. */
const LINE = /(?:(---|\.\.\.)(?!\S)|-(?!\S)|(["']?)([A-Za-z_][\w./-]*)\2[ \t]*:(?!\S)|[^\s#])[^\n]*/y;
const SPACE = 0x20;
/** White space, comments, and markers before the first content. */
const LEAD = /^(?:[ \t]*(?:#[^\n]*)?\r?\n|---[ \t]*(?:#[^\n]*)?(?:\r?\n|$))+/;

/** Tells a ResourceList from anything else that a function may write. */
export function readFunctionOutput(bytes: Uint8Array): FunctionOutput {
  const decoded = decode(bytes);
  if (decoded === undefined) return { type: 'not-text' };
  const text = decoded.replace(LEAD, '');
  if (text.trim() === '') return { type: 'empty' };
  if (/^\s*[{[]/.test(text)) return fromValue(text, bytes.byteLength);
  const scan = scanTopLevel(text);
  if ('unexpected' in scan) return { type: 'other', what: `text that contains ${quote(scan.unexpected)}` };
  const documents = scan.documents.filter((sections) => sections.length > 0);
  const [first] = documents;
  // Every line is indented, or the document is a list.
  if (first === undefined) return fromValue(text, bytes.byteLength);
  const kind = readScalar(text, first, 'kind');
  if (documents.length > 1) {
    return { type: 'other', what: `${documents.length} YAML documents, the first of them ${describe(kind)}` };
  }
  if (kind !== 'ResourceList') return { type: 'other', what: describe(kind) };
  if (!first.some(({ key }) => key === 'items')) return { type: 'other', what: WITHOUT_ITEMS };
  const results = first.find(({ key }) => key === 'results');
  return {
    type: 'resource-list',
    results:
      results === undefined
        ? { ok: true, results: [] }
        : readResultsText(text.slice(results.start, results.end), bytes.byteLength),
  };
}

/** Returns `results` as a function wrote them: a document with this field. Undefined for none. */
export function resultsText(output: Uint8Array): string | undefined {
  const text = (decode(output) ?? '').replace(LEAD, '');
  const scan = scanTopLevel(text);
  const sections = 'documents' in scan ? scan.documents.flat() : [];
  const results = sections.find(({ key }) => key === 'results');
  if (results !== undefined) return text.slice(results.start, results.end);
  const read = /^\s*\{/.test(text) ? parse(text, output.byteLength) : undefined;
  const value = read !== undefined && 'documents' in read ? read.documents[0] : undefined;
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMap && value.results !== undefined ? JSON.stringify({ results: value.results }) : undefined;
}

/** Reports whether a ResourceList, as krmhub or kpt writes it, has no resources. */
export function hasNoResources(list: Uint8Array): boolean {
  const text = decode(list) ?? '';
  if (!text.startsWith('{')) return /^items:[ \t]*(?:\[[ \t]*\]|null|~)[ \t]*$/m.test(text);
  const read = parse(text, list.byteLength);
  const [value] = 'documents' in read ? (read.documents as { items?: readonly JsonValue[] | null }[]) : [];
  return value !== undefined && (value.items ?? []).length === 0;
}

const WITHOUT_ITEMS = 'a ResourceList without `items`';

/** Splits block YAML at column 0. Content of a value is indented, or is a list below its key. */
function scanTopLevel(text: string): { documents: Section[][] } | { unexpected: string } {
  const documents: Section[][] = [[]];
  let open: Section | undefined;
  for (let at = 0; at < text.length; at = text.indexOf('\n', at) + 1 || text.length) {
    // Most lines are indented.
    if (text.charCodeAt(at) === SPACE) continue;
    LINE.lastIndex = at;
    const match = LINE.exec(text);
    if (match === null) continue;
    const [line, marker, , key] = match;
    if (marker === undefined && key === undefined) {
      // kyaml writes the last quote of a scalar in a line of its own.
      if (!/^(?:-|[\]}]|'(?:\s|[,\]}]|$))/.test(line)) return { unexpected: line };
      continue;
    }
    if (open !== undefined) open.end = match.index;
    open = undefined;
    if (key === undefined) documents.push([]);
    else {
      open = { key, start: match.index, end: text.length };
      documents.at(-1)!.push(open);
    }
  }
  return { documents };
}

/** The value of a key that is a word on its line. */
function readScalar(text: string, sections: readonly Section[], name: string): string | undefined {
  const section = sections.find(({ key }) => key === name);
  if (section === undefined) return undefined;
  const value = text.slice(section.start, section.end).replace(/^[^:]*:/, '');
  return /^\s*(["']?)([\w.-]+)\1[ \t]*(?:#|\r?\n|$)/.exec(value)?.[2];
}

/** JSON, and YAML that is not written in blocks. */
function fromValue(text: string, maxBytes: number): FunctionOutput {
  const read = parse(text, maxBytes);
  if ('reason' in read) return { type: 'other', what: `not valid YAML: ${read.reason}` };
  const [value] = read.documents;
  if (typeof value !== 'object' || value === null) return { type: 'other', what: describe(undefined) };
  if (Array.isArray(value)) return { type: 'other', what: 'a list' };
  const kind = typeof value.kind === 'string' ? value.kind : undefined;
  if (read.documents.length > 1) {
    return { type: 'other', what: `${read.documents.length} documents, the first of them ${describe(kind)}` };
  }
  if (kind !== 'ResourceList') return { type: 'other', what: describe(kind) };
  if (value.items === undefined) return { type: 'other', what: WITHOUT_ITEMS };
  return { type: 'resource-list', results: readResults(value.results) };
}

function parse(text: string, maxBytes: number): { documents: JsonValue[] } | { reason: string } {
  try {
    return { documents: [JSON.parse(text) as JsonValue] };
  } catch {
    return readOutputYaml(text, maxBytes);
  }
}

function describe(kind: string | undefined): string {
  if (kind === undefined) return 'not a Kubernetes resource';
  return `${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}`;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
