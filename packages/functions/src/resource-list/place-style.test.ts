import { describe, expect, it } from 'vitest';
import { decodeResourceList } from './decode.js';
import { encodeResourceList } from './encode.js';

const list = (annotations: string) => `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
${annotations.replace(/^(?=.)/gm, '      ')}    namespace: staging
  data:
    key: value
`;

const place = (index: string, path: string) => `config.kubernetes.io/index: ${index}
config.kubernetes.io/path: ${path}
internal.config.kubernetes.io/index: ${index}
internal.config.kubernetes.io/path: ${path}
internal.config.kubernetes.io/seqindent: ${path.includes("'") ? "'compact'" : path.includes('"') ? '"compact"' : 'compact'}
`;

describe('a ResourceList of a function keeps, as in kpt,', () => {
  it.each([
    ['single quotes', place("'0'", "'a/b.yaml'")],
    ['double quotes', place('"0"', '"a/b.yaml"')],
    ['no quotes', place('"0"', 'a/b.yaml')],
    ['double quotes, of a number', place('"0"', '"1"')],
    ['annotations behind those of the place', `first: a\n${place('"0"', 'a/b.yaml')}foo: bar\n`],
    ['annotations before those of the place', `foo: bar\n${place("'0'", "'a/b.yaml'")}`],
  ])('%s', (_, annotations) => {
    const text = list(annotations);
    expect(encodeResourceList(decodeResourceList(text).resources)).toBe(text);
  });

  it.each(['{"name": "a", "annotations": {', '{"annotations": {'])(
    'the quotes of the key in %s',
    (before) => {
      const after = before.includes('name') ? '' : ', "name": "a"';
      const text = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {"apiVersion": "v1", "kind": "ConfigMap", "metadata": ${before}"config.kubernetes.io/index": "0", "config.kubernetes.io/path": "a.yaml", "internal.config.kubernetes.io/index": "0", "internal.config.kubernetes.io/path": "a.yaml", "internal.config.kubernetes.io/seqindent": "compact"}${after}}}
`;
      const [resource] = decodeResourceList(text).resources;
      expect(resource!.text()).toBe('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}\n');
      expect(encodeResourceList([resource!])).toContain(before);
    },
  );
});
