import { field, fieldAt, ResourceNode } from '@krmhub/schema/resource-yaml';
import { OWN_ANNOTATIONS } from './annotations.js';

/** Where empty annotations are among the fields of `metadata`; undefined if they are last, not there, or not empty. */
export function emptyAnnotationsPlace(resource: ResourceNode): number | undefined {
  const metadata = field(resource, 'metadata');
  if (metadata?.kind !== 'map') return undefined;
  const at = metadata.content.findIndex((key, index) => index % 2 === 0 && key.value === 'annotations');
  if (at === -1 || at + 2 === metadata.content.length) return undefined;
  return metadata.content[at + 1]!.content.length === 0 ? at / 2 : undefined;
}

/** Inserts empty annotations at a place, or last. Returns how to remove them; undefined if there are annotations. */
export function insertAnnotations(
  resource: ResourceNode,
  place: number | undefined,
): (() => void) | undefined {
  const metadata = field(resource, 'metadata');
  if (metadata?.kind !== 'map' || field(metadata, 'annotations') !== undefined) return undefined;
  const at = place === undefined ? metadata.content.length : place * 2;
  const annotations = new ResourceNode('map', '', 0, '');
  metadata.content.splice(at, 0, new ResourceNode('scalar', '', 0, 'annotations'), annotations);
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
