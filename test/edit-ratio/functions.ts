import { readFileSync } from 'node:fs';
import {
  documentRoot,
  field,
  ResourceNode,
  readResourceList,
  setField,
  textNode,
  writeResourceList,
} from '@krmhub/schema/resource-yaml';

/** Functions as one program, which write as kyaml does: `node functions.mjs NAME`. */

const CHANGES: Readonly<Record<string, (item: ResourceNode) => void>> = {
  'no-op': () => undefined,
  'set-labels': (item) => setField(mapIn(mapIn(item, 'metadata'), 'labels'), 'tier', textNode('backend')),
  'set-namespace': (item) => setField(mapIn(item, 'metadata'), 'namespace', textNode('prod')),
  'apply-setters': applySetters,
};

function mapIn(map: ResourceNode, name: string): ResourceNode {
  const found = field(map, name);
  if (found?.kind === 'map') return found;
  setField(map, name, new ResourceNode('map', '', 0, ''));
  return field(map, name)!;
}

function applySetters(node: ResourceNode): void {
  if (node.kind === 'scalar' && /^# kpt-set: \$\{[\w-]+\}$/.test(node.line)) node.value = 'changed';
  for (const child of node.content) applySetters(child);
}

const list = readResourceList(readFileSync(0, 'utf8'), 'the input');
for (const item of list.items) CHANGES[process.argv[2]!]!(documentRoot(item));
process.stdout.write(writeResourceList({ ...list, kind: 'ResourceList' }));
