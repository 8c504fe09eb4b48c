import { field, fieldAt, isNull, resourceIdentity } from '../nodes/fields.js';
import { documentRoot, type ResourceNode } from '../nodes/node.js';
import type { SequenceIndent } from '../write/document-writer.js';
import { invalidYaml, type ReadText, YamlProblem } from './invalid.js';
import { parseDocument } from './parse.js';
import { detectSequenceIndent } from './sequence-indent.js';

/** A document of a file that has content. */
export interface ResourceDocument {
  /** A document, whose only child is the root. */
  node: ResourceNode;
  /** What it was read from, without the `---` around it. CRLF is LF. */
  text: string;
  /** The offset of `text` in the file, in which CRLF counts as one character. */
  start: number;
  seqIndent: SequenceIndent;
  /** Counts the documents with content, from 0. */
  index: number;
  /** The number of lines above it in the file. */
  rowsBefore: number;
}

/**
 * Reads the documents of a file, as kyaml does: a line that starts with `---` separates them, wherever it is, and
 * documents without content are left out. Throws `invalid-document`; `name` is the file for the message.
 */
export function readResources(text: string, name: string): ResourceDocument[] {
  return readDocuments(text, { name, isFile: true });
}

function readDocuments(text: string, from: ReadText): ResourceDocument[] {
  const documents: ResourceDocument[] = [];
  for (const { text: part, start, rowsBefore } of splitDocuments(text, from)) {
    const node = parse(part, from, rowsBefore);
    if (node === undefined) continue;
    documents.push({
      node,
      text: part,
      start,
      seqIndent: detectSequenceIndent(part),
      index: documents.length,
      rowsBefore,
    });
  }
  return documents;
}

/**
 * Reads one document. Undefined if it has no content. Rejects duplicate keys, of which kpt keeps the first value, and
 * keys that are lists or maps, which kpt writes in another form and cannot read then.
 */
export function readDocument(text: string, name: string): ResourceNode | undefined {
  return parse(text, { name, isFile: false }, 0);
}

/** Reads the documents of a text that have content, whatever they are. Throws `invalid-document`. */
export function readTrees(text: string, name: string): ResourceNode[] {
  const from = { name, isFile: false };
  return splitDocuments(text, from).flatMap(({ text: part, rowsBefore }) => {
    try {
      const document = parseDocument(part);
      return document === undefined || isNull(document.content[0]) ? [] : [documentRoot(document)];
    } catch (problem) {
      throw invalidYaml(from, problem, part, rowsBefore);
    }
  });
}

function parse(text: string, from: ReadText, rowsBefore: number): ResourceNode | undefined {
  try {
    const document = parseDocument(text);
    if (document === undefined || isNull(document.content[0])) return undefined;
    checkKeys(document, text);
    checkShape(document);
    return document;
  } catch (problem) {
    throw invalidYaml(from, problem, text, rowsBefore);
  }
}

/** The text of one document. */
export interface TextPart {
  text: string;
  start: number;
  rowsBefore: number;
}

/** Returns the text of each document of a file, also of those without content. Throws `invalid-document`. */
export function splitDocuments(input: string, from: ReadText): TextPart[] {
  const text = input.includes('\r') ? input.replaceAll('\r\n', '\n') : input;
  if (!text.includes('\n---')) return [{ text, start: 0, rowsBefore: 0 }];
  const parts: TextPart[] = [];
  const separator = /\n---([^\n]*)\n/g;
  let start = 0;
  let rows = 0;
  for (let found = separator.exec(text); found !== null; found = separator.exec(text)) {
    const rest = found[1]!.trim();
    const part = text.slice(start, found.index + 1);
    const rowsOfPart = countBreaks(part);
    if (rest !== '' && !rest.startsWith('#')) {
      const problem = new YamlProblem(`invalid document separator: ---${found[1]}`, rows + rowsOfPart + 1);
      throw invalidYaml(from, problem, text);
    }
    parts.push({ text: part, start, rowsBefore: rows });
    rows += rowsOfPart + 1;
    start = separator.lastIndex;
  }
  parts.push({ text: text.slice(start), start, rowsBefore: rows });
  return parts;
}

function countBreaks(text: string): number {
  let count = 0;
  for (let i = text.indexOf('\n'); i !== -1; i = text.indexOf('\n', i + 1)) count++;
  return count;
}

/** Few keys are compared with each other, many are put into a set. */
const MANY_KEYS = 16;

function checkKeys(node: ResourceNode, text: string): void {
  const { content } = node;
  if (node.kind === 'map') {
    const seen = content.length > 2 * MANY_KEYS ? new Set<string>() : undefined;
    for (let i = 0; i + 1 < content.length; i += 2) {
      const key = content[i]!;
      if (['map', 'list'].includes((key.target ?? key).kind)) throw collectionKey(key, text);
      if (key.kind !== 'scalar') continue;
      let isDuplicate = false;
      if (seen !== undefined) {
        isDuplicate = seen.has(key.value);
        seen.add(key.value);
      } else {
        for (let j = 0; j < i && !isDuplicate; j += 2) {
          isDuplicate = content[j]!.value === key.value && content[j]!.kind === 'scalar';
        }
      }
      if (isDuplicate) throw new YamlProblem(`the key ${JSON.stringify(key.value)} occurs twice`, key.row);
    }
  }
  for (const child of content) if (child.content.length > 0) checkKeys(child, text);
}

/** kpt loses annotations that are no map, and cannot read other documents without these maps. */
function checkShape(resource: ResourceNode): void {
  const root = documentRoot(resource);
  if (root.kind === 'scalar' || root.kind === 'alias') throw notMap('the document', root);
  for (const path of [['metadata'], ['metadata', 'annotations']]) {
    const value = fieldAt(root, path);
    if (value !== undefined && !isNull(value) && value.kind !== 'map')
      throw notMap(`\`${path.join('.')}\``, value);
  }
}

const KIND_NAMES: Readonly<Record<string, string>> = {
  scalar: 'a scalar',
  alias: 'an alias',
  list: 'a list',
};

function notMap(what: string, { kind, row }: ResourceNode): YamlProblem {
  return new YamlProblem(`${what} is ${KIND_NAMES[kind]}, expected a map`, row);
}

/** Such a key is most often a placeholder of a template, such as `{{name}}`. */
function collectionKey({ row }: ResourceNode, text: string): YamlProblem {
  const line = text.split('\n', row)[row - 1] ?? '';
  const at =
    ['{{', '? ', '{', '[', '*'].map((start) => line.indexOf(start)).find((found) => found !== -1) ?? 0;
  return new YamlProblem('a key is a map or a list, expected a string', row, {
    column: at + 1,
    hint: 'Write a placeholder such as {{name}} in quotes.',
  });
}

/** A list of resources: what a function reads and writes. */
export interface ResourceListNode {
  /** Empty if the text was documents without a list around them. */
  apiVersion: string;
  /** `ResourceList` or `List`, or empty. */
  kind: string;
  items: ResourceNode[];
  functionConfig: ResourceNode | undefined;
  results: ResourceNode | undefined;
}

/** Reads the output of a function: a list, or documents without one. Throws `invalid-document`. */
export function readResourceList(text: string, name: string): ResourceListNode {
  const documents = readDocuments(text, { name, isFile: false });
  const root = documents.length === 1 ? documents[0]!.node : undefined;
  const { apiVersion, kind } = root === undefined ? NO_LIST : resourceIdentity(root);
  const items = field(root, 'items');
  const functionConfig = field(root, 'functionConfig');
  if (
    root === undefined ||
    (kind !== 'ResourceList' && kind !== 'List') ||
    (items === undefined && functionConfig === undefined)
  ) {
    return {
      ...NO_LIST,
      items: documents.map(({ node }) => node),
      functionConfig: undefined,
      results: undefined,
    };
  }
  try {
    for (const item of items?.content ?? []) checkShape(item);
  } catch (problem) {
    throw invalidYaml({ name, isFile: false }, problem, text);
  }
  return { apiVersion, kind, items: items?.content ?? [], functionConfig, results: field(root, 'results') };
}

const NO_LIST = { apiVersion: '', kind: '' };
