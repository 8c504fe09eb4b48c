import { annotations, fieldAt, type ResourceNode, resourceIdentity } from '@krmhub/schema/resource-yaml';
import type { ResourceIdentity } from './identity.js';

/** Returns what names a resource. */
export function readIdentity(node: ResourceNode): ResourceIdentity {
  const labels: [string, string][] = [];
  const map = fieldAt(node, ['metadata', 'labels']);
  if (map?.kind === 'map') {
    for (let at = 0; at + 1 < map.content.length; at += 2) {
      labels.push([map.content[at]!.value, map.content[at + 1]!.value]);
    }
  }
  return { ...resourceIdentity(node), labels: toRecord(labels), annotations: toRecord(annotations(node)) };
}

const EMPTY: Readonly<Record<string, string>> = Object.freeze(Object.create(null));

/** Without a prototype: functions choose the names. */
export function toRecord(entries: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  let record: Record<string, string> | undefined;
  for (const [key, value] of entries) {
    record ??= Object.create(null) as Record<string, string>;
    record[key] = value;
  }
  return record ?? EMPTY;
}
