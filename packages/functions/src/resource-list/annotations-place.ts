import { documentRoot, field, fieldAt, ResourceNode } from '@krmhub/schema/resource-yaml';
import { OWN_ANNOTATIONS } from './annotations.js';

/** How empty annotations are written in `metadata`. */
export interface AnnotationsPlace {
  /** How many fields are before them; absent if they are last. */
  fieldsBefore?: number;
  /** Of the key, which a function may have quoted. */
  keyStyle: number;
}

/** Returns the place of empty annotations; undefined if there are none, and if they are where new ones would be. */
export function emptyAnnotationsPlace(resource: ResourceNode): AnnotationsPlace | undefined {
  const metadata = field(resource, 'metadata');
  if (metadata?.kind !== 'map') return undefined;
  const at = metadata.content.findIndex((key, index) => index % 2 === 0 && key.value === 'annotations');
  if (at === -1 || metadata.content[at + 1]!.content.length > 0) return undefined;
  const keyStyle = metadata.content[at]!.style;
  if (at + 2 < metadata.content.length) return { fieldsBefore: at / 2, keyStyle };
  return keyStyle === 0 ? undefined : { keyStyle };
}

/** Inserts empty annotations at a place, or last. Returns how to remove them; undefined if there are annotations. */
export function insertAnnotations(
  resource: ResourceNode,
  { fieldsBefore, keyStyle }: AnnotationsPlace = { keyStyle: 0 },
): (() => void) | undefined {
  const metadata = field(resource, 'metadata');
  if (metadata?.kind !== 'map' || field(metadata, 'annotations') !== undefined) return undefined;
  const at = fieldsBefore === undefined ? metadata.content.length : fieldsBefore * 2;
  const key = new ResourceNode('scalar', '', keyStyle, 'annotations');
  metadata.content.splice(at, 0, key, new ResourceNode('map', '', 0, ''));
  return () => {
    metadata.content.splice(at, 2);
  };
}

/** Inserts empty annotations of the orchestrator behind that many others. Returns how to remove them. */
export function insertOwnAnnotations(resource: ResourceNode, before: number): (() => void) | undefined {
  const found = fieldAt(resource, ['metadata', 'annotations']);
  if (found?.kind !== 'map') return undefined;
  const own = OWN_ANNOTATIONS.flatMap((key) => [
    new ResourceNode('scalar', '', 0, key),
    new ResourceNode('scalar', '!!str', 0, ''),
  ]);
  found.content.splice(before * 2, 0, ...own);
  return () => {
    found.content.splice(before * 2, own.length);
  };
}

/**
 * Returns a version of a document with what reading it took out: annotations of the orchestrator that a file has, and
 * empty maps for annotations. They are the user's there, and stay.
 */
export function withBookkeeping(before: ResourceNode, after: ResourceNode): ResourceNode {
  const metadata = field(before, 'metadata');
  const found = field(metadata, 'annotations');
  const isEmpty = (node: ResourceNode | undefined) => node !== undefined && node.content.length === 0;
  const own = OWN_ANNOTATIONS.filter((name) => field(found, name) !== undefined);
  if (!isEmpty(metadata) && !isEmpty(found) && own.length === 0) return after;
  const copy = after.clone();
  const metadataAfter = restoreField(before, copy, 'metadata');
  if (metadata === undefined || found === undefined || metadataAfter === undefined) return copy;
  const annotations = restoreField(metadata, metadataAfter, 'annotations');
  for (const name of own) restoreField(found, annotations, name);
  return copy;
}

/** Adds a field of a map to another version of it that lacks the field. Returns its value. */
function restoreField(
  before: ResourceNode,
  after: ResourceNode | undefined,
  name: string,
): ResourceNode | undefined {
  const [from, to] = [documentRoot(before), after === undefined ? undefined : documentRoot(after)];
  const found = field(to, name);
  if (found !== undefined || to?.kind !== 'map' || from.kind !== 'map') return found;
  const at = from.content.findIndex((key, index) => index % 2 === 0 && key.value === name);
  to.content.splice(at, 0, ...from.content.slice(at, at + 2).map((node) => node.clone()));
  return field(to, name);
}
