/**
 * Writes a change of trees as the smallest edit of the text.
 *
 * The trees before and after are compared by meaning. What is equal keeps its bytes; each difference becomes a splice of
 * the text. The result is read again: if it does not have the new value, the document is written whole.
 *
 * @module
 */

import { documentRoot, ResourceNode } from '../nodes/node.js';
import { type ResourceDocument, readDocument } from '../parse/read-resources.js';
import type { SequenceIndent } from '../write/document-writer.js';
import { writeDocument } from '../write/write-resources.js';
import { AddedComments } from './added-comments.js';
import { DocumentEditor } from './edit-document.js';
import { equalValue, Meanings } from './equal-value.js';
import { NewNodes } from './new-nodes.js';
import { SourceText } from './source-text.js';
import { applySplices, type Splice } from './splices.js';
import { Uneditable } from './uneditable.js';

/** One document of a file: as it was read, and as it is to be. */
export interface DocumentEdit {
  before: ResourceDocument;
  /** Undefined: the document is removed. */
  after: ResourceNode | undefined;
  /** What a function was shown, if its comments may differ from those of `before`. */
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

/** Returns the text of a file with its documents changed. Text that is not concerned keeps its bytes. */
export function editFile({ text, documents, added = [] }: FileEdit): EditedFile {
  const normalized = text.includes('\r') ? text.replaceAll('\r\n', '\n') : text;
  const notes: EditNote[] = [];
  const splices: Splice[] = [];
  for (const edit of documents) {
    if (edit.after === undefined) splices.push(removal(normalized, edit.before));
    else {
      for (const splice of editDocument(edit.before, edit.after, edit.shown ?? edit.before.node, notes)) {
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
  shown: ResourceNode,
  notes: EditNote[],
): Splice[] {
  const { node, text, seqIndent, index, rowsBefore } = before;
  let reason: string;
  try {
    const editor = new DocumentEditor(text, { before: node, after, shown, seqIndent }, new Meanings());
    const splices = editor.edit(node, after);
    let isRight = splices.length === 0 || hasValue(applySplices(text, splices), after);
    if (!isRight && !text.endsWith('\n')) {
      // A block scalar at the end of the text may need its line break.
      splices.push({ start: text.length, end: text.length, text: '\n' });
      isRight = hasValue(applySplices(text, splices), after);
    }
    if (isRight) {
      for (const { row, path } of editor.notes) {
        notes.push({ kind: 'expanded', document: index, row: row + rowsBefore, path });
      }
      return splices;
    }
    reason = 'the edited text has another value';
  } catch (problem) {
    if (!(problem instanceof Uneditable)) throw problem;
    reason = problem.message;
  }
  notes.push({ kind: 'rewritten', document: index, row: rowsBefore + node.row, path: '', reason });
  return [shortened(text, rewrite(before, after))];
}

function hasValue(text: string, after: ResourceNode): boolean {
  try {
    const node = readDocument(text, '');
    return node !== undefined && equalValue(node, after);
  } catch {
    return false;
  }
}

/** Writes a document whole, below the comments and directives above its content. */
function rewrite({ node, text, seqIndent }: ResourceDocument, after: ResourceNode): string {
  const source = new SourceText(text);
  const root = documentRoot(node);
  const copy = documentRoot(after).clone();
  copy.head = '';
  if (copy.content[0] !== undefined) copy.content[0].head = '';
  const start = source.startsLine(root.start) ? source.lineStart(root.start) : root.start;
  const line = start === root.start && !source.startsLine(start) ? '\n' : '';
  const edited =
    text.slice(0, start) + line + writeDocument(copy, { seqIndent }) + text.slice(source.nextLine(root.end));
  if (hasValue(edited, after)) return edited;
  const whole = writeDocument(after, { seqIndent });
  // An alias can be above its anchor now.
  return hasValue(whole, after) ? whole : writeDocument(withoutAliases(after), { seqIndent });
}

function withoutAliases(after: ResourceNode): ResourceNode {
  const allComments = new AddedComments(new ResourceNode('map', '', 0, ''), after);
  return new NewNodes(allComments, false).copy(documentRoot(after));
}

/** A document takes the `---` line above it with it; the first one, the line below it. */
function removal(text: string, { start, text: part, node }: ResourceDocument): Splice {
  const end = start + part.length;
  const source = new SourceText(text);
  if (start > 0) return { start: source.lineStart(start - 1), end, text: '' };
  const root = documentRoot(node);
  const above = source.headStart(root.start, 0);
  const hasText = /[^\s\ufeff]/.test(text.slice(0, above));
  return { start: above, end: hasText || end >= text.length ? end : source.nextLine(end), text: '' };
}

/** The splice that a change of a document is, without what is the same at both ends. */
function shortened(before: string, after: string): Splice {
  let start = 0;
  while (start < before.length && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  let ends = 0;
  const most = Math.min(before.length, after.length) - start;
  while (
    ends < most &&
    before.charCodeAt(before.length - 1 - ends) === after.charCodeAt(after.length - 1 - ends)
  )
    ends++;
  return {
    start,
    end: before.length - ends,
    text: after.slice(start, after.length - ends),
  };
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
