import { isDeepStrictEqual } from 'node:util';
import { defined } from '@krmhub/schema/defined';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { editFile } from '@krmhub/schema/edit-yaml';
import { KrmhubError } from '@krmhub/schema/error';
import {
  documentRoot,
  field,
  fromJson,
  type ResourceDocument,
  ResourceNode,
  readResources,
  textNode,
  toJson,
} from '@krmhub/schema/resource-yaml';
import { isMapping, KPTFILE } from './kptfile-content.js';
import { type RenderOutcome, renderStatus } from './render-status.js';

/**
 * Returns the text of a Kptfile with the status of a render, as kpt has it: only the lines of `status` change, and no
 * comment is lost. Undefined for a text whose layout cannot be edited.
 */
export function editStatus(text: string, outcome: RenderOutcome): string | undefined {
  const document = readKptfile(text);
  if (document === undefined) return undefined;
  const old = field(documentRoot(document.node), 'status');
  const before = old === undefined ? undefined : toJson(old);
  const status = statusAfter(before, outcome);
  if (isDeepStrictEqual(before, status)) return text;
  const edited = setStatus(text, document, status);
  const lost = edited === undefined ? [] : lostComments(document, readKptfile(edited));
  return lost.length === 0 ? edited : setStatus(text, document, status, lost);
}

/** The condition `Rendered` comes last, as in kpt. Other conditions, and fields of a newer kpt, stay. */
function statusAfter(before: JsonValue | undefined, outcome: RenderOutcome): JsonObject {
  const { condition, status } = renderStatus(outcome);
  const { renderStatus: _, ...others } = isMapping(before) ? before : {};
  const { conditions } = others;
  const kept = (Array.isArray(conditions) ? conditions : []).filter(
    (one) => !isMapping(one) || one.type !== condition.type,
  );
  return {
    ...others,
    conditions: [...kept, condition],
    ...defined({ renderStatus: status }),
  };
}

/** `comments` are those of the status that are written above it. */
function setStatus(
  text: string,
  document: ResourceDocument,
  status: JsonObject,
  comments: readonly string[] = [],
): string | undefined {
  const node = document.node.clone();
  const root = documentRoot(node);
  const old = field(root, 'status');
  // A comment that is there already would not be new.
  if (old !== undefined && comments.length > 0) removeComments(old);
  const after = new ResourceNode('map', root.tag, root.style, '');
  const key = textNode('status');
  key.head = comments.join('\n');
  const at = root.content.findIndex((one, index) => index % 2 === 0 && one.value === 'status');
  after.content = [...root.content];
  after.content.splice(at === -1 ? root.content.length : at, 2, key, fromJson(status));
  // So kyaml writes the status as well if a function changes the file.
  const seqIndent = /^ *- /m.test(text) ? document.seqIndent : 'wide';
  const edited = editFile({
    text,
    documents: [{ before: { ...document, node, seqIndent }, after }],
  });
  return edited.notes.length === 0 ? edited.text : undefined;
}

function removeComments(node: ResourceNode): void {
  Object.assign(node, { head: '', line: '', foot: '' });
  node.content.forEach(removeComments);
}

/** The comments of what was removed. */
function lostComments(before: ResourceDocument, after: ResourceDocument | undefined): string[] {
  const left = commentsOf(after);
  return commentsOf(before).filter((comment) => {
    const at = left.indexOf(comment);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

function commentsOf(document: ResourceDocument | undefined): string[] {
  const comments: string[] = [];
  const visit = ({ head, line, foot, content }: ResourceNode): void => {
    comments.push(...[head, line, foot].flatMap((text) => (text === '' ? [] : text.split('\n'))));
    content.forEach(visit);
  };
  if (document !== undefined) visit(document.node);
  return comments.filter((line) => line !== '');
}

/** Undefined for text that kyaml cannot read. */
function readKptfile(text: string): ResourceDocument | undefined {
  try {
    const [document] = readResources(text, KPTFILE);
    return document !== undefined && documentRoot(document.node).kind === 'map' ? document : undefined;
  } catch (error) {
    if (error instanceof KrmhubError) return undefined;
    throw error;
  }
}
