import { field, fieldAt, ResourceNode } from '@krmhub/schema/resource-yaml';
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
