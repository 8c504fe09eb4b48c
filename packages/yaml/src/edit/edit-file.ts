/**
 * Writes a change of trees as the smallest edit of the text.
 *
 * The trees before and after are compared by meaning. What is equal keeps its bytes; each difference becomes a splice of
 * the text. The result is read again: if it does not have the new value, the document is written whole.
 *
 * @module
 */

import { YamlError } from '../error.js';
import { expandAliases } from '../nodes/expand-aliases.js';
import { documentRoot, type ResourceNode, STYLE } from '../nodes/node.js';
import { parseDocument } from '../parse/parse.js';
import type { ResourceDocument } from '../parse/read-resources.js';
import type { SequenceIndent } from '../write/document-writer.js';
import { writeDocument } from '../write/write-resources.js';
import { AddedComments } from './added-comments.js';
import { DocumentText } from './document-text.js';
import { DocumentEditor } from './edit-document.js';
import { equalValue, Meanings } from './equal-value.js';
import { applySplices, type Splice } from './splices.js';
import { Uneditable } from './uneditable.js';

/** One document of a file: as it was read, and as it is to be. */
export interface DocumentEdit {
  before: ResourceDocument;
  /** Undefined: the document is removed. */
  after: ResourceNode | undefined;
  /** What a function was shown, if its comments may differ from those of `before`: read if `after` has others. */
  shown?: ResourceNode;
}

export interface FileEdit {
  /** The whole file. */
  text: string;
  /** All documents with content, in the order of the file. */
  documents: readonly DocumentEdit[];
  /** Documents that are written below the others. */
  added?: readonly { node: ResourceNode; seqIndent: SequenceIndent }[];
}

/**
 * `expanded`: a change under an alias or a merge key was written there. `rewritten`: the document could not be edited,
 * and was written whole.
 */
export interface EditNote {
  kind: 'expanded' | 'rewritten';
  /** The index of the document among those with content. */
  document: number;
  /** The line in the file, from 1. */
  row: number;
  /** The field, such as `spec.template`; empty for the document. */
  path: string;
  reason?: string;
}

export interface EditedFile {
  text: string;
  notes: EditNote[];
}

/**
 * Returns the text of a file with its documents changed. Text that is not concerned keeps its bytes. Throws YamlError
 * for a value that YAML cannot have.
 */
export function editFile({ text, documents, added = [] }: FileEdit): EditedFile {
  const normalized = text.includes('\r') ? text.replaceAll('\r\n', '\n') : text;
  const notes: EditNote[] = [];
  const splices = removals(normalized, documents);
  for (const edit of documents) {
    if (edit.after !== undefined && edit.after !== edit.before.node) {
      for (const splice of editDocument(edit.before, edit.after, () => edit.shown, notes)) {
        const offset = edit.before.start;
        splices.push({ start: splice.start + offset, end: splice.end + offset, text: splice.text });
      }
    }
  }
  const appended = addition(normalized, splices, added);
  if (appended !== undefined) splices.push(appended);
  if (splices.length === 0) return { text, notes };
  return {
    text: normalized === text ? applySplices(text, splices) : applyToCrlf(text, normalized, splices),
    notes,
  };
}

function editDocument(
  before: ResourceDocument,
  after: ResourceNode,
  shown: () => ResourceNode | undefined,
  notes: EditNote[],
): Splice[] {
  const { node, text, index, rowsBefore } = before;
  let reason: string;
  try {
    const meanings = new Meanings({ findsQuotes: (documentRoot(after).style & STYLE.flow) === 0 });
    let comments = new AddedComments(node, after);
    if (!comments.isEmpty) comments = new AddedComments(shown() ?? node, after);
    if (comments.isEmpty && meanings.equal(documentRoot(node), documentRoot(after))) return [];
    const editor = new DocumentEditor(before, { after, meanings, comments });
    const splices = editor.edit();
    for (const ending of [undefined, ...endings(editor.source, node)]) {
      const edited = ending === undefined ? splices : [...splices, ending];
      if (!hasValue(applySplices(text, edited), after)) continue;
      for (const { row, path } of editor.notes) {
        notes.push({ kind: 'expanded', document: index, row: row + rowsBefore, path });
      }
      return edited;
    }
    reason = 'the edited text has another value';
  } catch (problem) {
    if (!(problem instanceof Uneditable)) throw problem;
    reason = problem.message;
  }
  notes.push({ kind: 'rewritten', document: index, row: rowsBefore + node.row, path: '', reason });
  return [rewrite(before, after)];
}

/** What a block scalar may need at the end of a text without a line break: if it is new, and if it is no longer last. */
function endings(source: DocumentText, node: ResourceNode): Splice[] {
  const { length } = source.text;
  if (source.text.endsWith('\n')) return [];
  const chomping = source.chomping(node);
  const lineBreak = { start: length, end: length, text: '\n' };
  return chomping === undefined ? [lineBreak] : [lineBreak, { ...chomping, text: '-' }];
}

function hasValue(text: string, after: ResourceNode): boolean {
  try {
    const node = parseDocument(text);
    return node !== undefined && equalValue(node, after);
  } catch {
    return false;
  }
}

/** Writes a document whole, below the comments above its content. */
function rewrite({ node, text, seqIndent }: ResourceDocument, after: ResourceNode): Splice {
  const source = new DocumentText(text);
  const root = documentRoot(node);
  const copy = documentRoot(after).clone();
  copy.head = '';
  if (copy.content[0] !== undefined) copy.content[0].head = '';
  const end = source.nextLine(root.end);
  const line = source.startsLine(root.start) ? '' : '\n';
  const content = { start: root.start, end, text: line + writeDocument(copy, { seqIndent }) };
  if (hasValue(applySplices(text, [content]), after)) return content;
  const whole = { start: 0, end: text.length, text: writeDocument(after, { seqIndent }) };
  if (hasValue(whole.text, after)) return whole;
  // An alias can be above its anchor now.
  const expanded = { ...whole, text: writeDocument(expandAliases(documentRoot(after)), { seqIndent }) };
  if (hasValue(expanded.text, after)) return expanded;
  throw new YamlError('a changed document cannot be written: it would be read with another value', {
    hint: 'A key `<<` and more than 200 nested lists and maps cannot be written.',
  });
}

/**
 * A document that is removed takes the `---` line above it with it. With nothing above it, it takes the line below it:
 * unless that has a comment, which is about the next document.
 */
function removals(text: string, documents: readonly DocumentEdit[]): Splice[] {
  if (documents.every(({ after }) => after !== undefined)) return [];
  const source = new DocumentText(text);
  const splices: Splice[] = [];
  // What is above this offset is removed, but for a mark.
  let start = 0;
  for (const { before, after } of documents) {
    if (after !== undefined) continue;
    const end = before.start + before.text.length;
    if (before.start > start) {
      splices.push({ start: source.lineStart(before.start - 1), end, text: '' });
      continue;
    }
    const head = before.start + headOf(before);
    const isAlone = ONLY_MARK.test(text.slice(start, head));
    const next = source.nextLine(end);
    start = isAlone && /^---[ \t]*\n?$/.test(text.slice(end, next)) ? next : end;
    splices.push({ start: head, end: start, text: '' });
  }
  return splices;
}

const ONLY_MARK = /^[\s\ufeff]*(?:---[ \t]*\n)?\s*$/;

/** Where the comments above the content of a document start. */
function headOf({ text, node }: ResourceDocument): number {
  return new DocumentText(text).headStart(documentRoot(node).start, 0);
}

function addition(
  text: string,
  splices: readonly Splice[],
  added: NonNullable<FileEdit['added']>,
): Splice | undefined {
  if (added.length === 0) return undefined;
  const rest = applySplices(text, splices);
  let lines = rest === '' || rest.endsWith('\n') ? '' : '\n';
  let isSeparated = /^[\s\ufeff]*$/.test(rest) || /(?:^|\n)---[ \t]*\n?$/.test(rest);
  for (const { node, seqIndent } of added) {
    lines += (isSeparated ? '' : '---\n') + writeDocument(node, { seqIndent });
    isSeparated = false;
  }
  return { start: text.length, end: text.length, text: lines };
}

/** Applies splices to a text some of whose line breaks are CRLF; new lines end as the first one of the file does. */
function applyToCrlf(text: string, normalized: string, splices: readonly Splice[]): string {
  const first = normalized.indexOf('\n');
  const isCrlf = text.charAt(first) === '\r';
  const offsets = splices.flatMap(({ start, end }) => [start, end]).sort((a, b) => a - b);
  const originals = new Map<number, number>();
  let at = 0;
  let original = 0;
  for (const offset of offsets) {
    while (at < offset) {
      original += text.charCodeAt(original) === 0x0d && text.charCodeAt(original + 1) === 0x0a ? 2 : 1;
      at++;
    }
    originals.set(offset, original);
  }
  const moved = splices.map(({ start, end, text: replacement }) => ({
    start: originals.get(start)!,
    end: originals.get(end)!,
    text: isCrlf ? replacement.replaceAll('\n', '\r\n') : replacement,
  }));
  return applySplices(text, moved);
}
