/**
 * A file can use the annotations or the metadata of a resource elsewhere, by an alias. A function then sees the
 * annotations of the orchestrator there too, and many functions write what an alias stands for in place of it. They must
 * not get into the file.
 */
import { documentRoot, field, type ResourceNode } from '@krmhub/schema/resource-yaml';
import { OWN_ANNOTATIONS } from '../resource-list/annotations.js';
import type { Resource } from '../resource-list/resource.js';

/** Removes the annotations of the orchestrator from where the function got them by an alias. */
export function removeShared(origin: Resource, output: ResourceNode): void {
  if (!origin.body.compactText().includes('*')) return;
  const before = field(documentRoot(origin.node()), 'metadata');
  const isShared = [before, field(before, 'annotations')].some((one) => (one?.anchor ?? '') !== '');
  if (!isShared) return;
  const root = documentRoot(output);
  remove(root, field(field(root, 'metadata'), 'annotations'));
}

function remove(node: ResourceNode, own: ResourceNode | undefined): void {
  if (node === own) return;
  if (node.kind === 'map') {
    for (let at = node.content.length - 2; at >= 0; at -= 2) {
      if (OWN_ANNOTATIONS.includes(node.content[at]!.value)) node.content.splice(at, 2);
    }
  }
  for (const child of node.content) remove(child, own);
}
