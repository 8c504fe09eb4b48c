import { annotations, fieldAt, identityOf, type ResourceNode } from '@krmhub/schema/resource-yaml';
import type { ResourceIdentity } from './identity.js';

/** Returns what names a resource. */
export function readIdentity(node: ResourceNode): ResourceIdentity {
  const labels: Record<string, string> = Object.create(null);
  const map = fieldAt(node, ['metadata', 'labels']);
  if (map?.kind === 'map') {
    for (let at = 0; at + 1 < map.content.length; at += 2) {
      labels[map.content[at]!.value] = map.content[at + 1]!.value;
    }
  }
  return { ...identityOf(node), labels, annotations: recordOf(annotations(node)) };
}

/** Without a prototype: functions choose the names. */
export function recordOf(entries: Iterable<readonly [string, string]>): Record<string, string> {
  const record: Record<string, string> = Object.create(null);
  for (const [key, value] of entries) record[key] = value;
  return record;
}
