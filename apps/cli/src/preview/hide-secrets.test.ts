import { readDocument, toJson, writeDocument } from '@krmhub/schema/resource-yaml';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { SecretHider } from './hide-secrets.js';
import { hideAll } from './package-texts.js';

function hidden(text: string, hider = new SecretHider()): string {
  const node = readDocument(text, 'output')!;
  hider.hide(node);
  return hider.inResource(writeDocument(node));
}

const base64 = (text: string) => Buffer.from(text).toString('base64');
const secret = (more: object) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'db' },
  ...more,
});

/** Places where a Secret with `value` can be; each gives a document. */
const PLACES: Record<string, (value: string) => object> = {
  data: (value) => secret({ data: { password: base64(value) } }),
  stringData: (value) => secret({ stringData: { password: value } }),
  'data that is no map': (value) => secret({ data: [base64(value)], stringData: value }),
  'a nested value': (value) => secret({ stringData: { a: { b: [value] } } }),
  'the annotation of kubectl': (value) =>
    secret({
      metadata: {
        name: 'db',
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(
            secret({ stringData: { password: value } }),
          ),
        },
      },
    }),
  'an annotation inside of an annotation': (value) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'x',
      annotations: {
        original: JSON.stringify({ inner: JSON.stringify(secret({ data: { a: base64(value) } })) }),
      },
    },
  }),
  'a List': (value) => ({ apiVersion: 'v1', kind: 'List', items: [secret({ data: { a: base64(value) } })] }),
  'a SecretList': (value) => ({
    apiVersion: 'v1',
    kind: 'SecretList',
    items: [{ metadata: { name: 'x' }, data: { a: base64(value) } }],
  }),
  'a ResourceList': (value) => ({
    apiVersion: 'config.kubernetes.io/v1',
    kind: 'ResourceList',
    items: [secret({ stringData: { a: value } })],
  }),
  'a manifest in a Composition': (value) => ({
    apiVersion: 'apiextensions.crossplane.io/v1',
    kind: 'Composition',
    metadata: { name: 'x' },
    spec: { resources: [{ base: { spec: { manifest: secret({ stringData: { a: value } }) } } }] },
  }),
  'a manifest in a ConfigMap': (value) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x' },
    data: { 'secret.yaml': `apiVersion: v1\nkind: Secret\nstringData:\n  a: ${JSON.stringify(value)}\n` },
  }),
  'a field that Secrets do not have': (value) => secret({ binaryData: { a: base64(value) } }),
  'literals of a kustomization': (value) => ({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    secretGenerator: [{ name: 'db', literals: [`password=${value}`] }],
  }),
  'a patch of a kustomization': (value) => ({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    patches: [{ target: { kind: 'Secret' }, patch: `- {op: add, path: /data/a, value: ${base64(value)}}` }],
  }),
};

describe('values of Secrets', () => {
  it.each(Object.keys(PLACES))('are hidden in %s', (place) => {
    const random = new Random(7);
    for (let round = 0; round < 40; round++) {
      const value = Array.from({ length: 6 + random.below(20) }, () =>
        random.pick([...'abcdefghijkmnpqrstuvwxyz23456789!? ü"\'\\\n']),
      ).join('');
      const text = JSON.stringify(PLACES[place]!(value));
      const result = hidden(text);
      for (const form of [value, base64(value), JSON.stringify(value).slice(1, -1)]) {
        expect(result.includes(form), `${form} in ${result}`).toBe(false);
      }
      expect(result).toMatch(/\(secret [0-9a-f]{12}\)/);
    }
  });

  it('are equal where they were equal, also in Base64, and with another key in the next preview', () => {
    const text = JSON.stringify(
      secret({ data: { a: base64('hunter2'), b: base64('hunter3') }, stringData: { c: 'hunter2' } }),
    );
    const hider = new SecretHider();
    const hashes = (result: string) => [...result.matchAll(/\(secret (\w+)\)/g)].map(([, hash]) => hash);
    const [a, b, c] = hashes(hidden(text, hider));
    expect([a === c, a === b]).toEqual([true, false]);
    expect(hashes(hidden(text, hider))[0]).toBe(a);
    expect(hashes(hidden(text))[0]).not.toBe(a);
  });

  it('are hidden with the comments of the Secret', () => {
    const text = `apiVersion: v1
kind: Secret # of hunter2
metadata: {name: db}
data:
  # hunter2
  password: ${base64('hunter2')} # hunter2
  # was hunter1
# hunter2 again
`;
    expect(hidden(text)).not.toMatch(/hunter/);
  });

  it('are hidden behind an alias, and where its anchor is', () => {
    const text = `apiVersion: v1
kind: Secret
metadata: {name: db, annotations: {x: &a "correct horse battery"}}
stringData: {password: *a}
`;
    expect(hidden(text)).not.toContain('correct horse');
  });

  it('are hidden where they are merged, and below a kind behind an alias', () => {
    const merged = `kind: Secret
metadata: {name: db}
x: &x
  stringData: {password: correct horse battery}
<<: *x
`;
    expect(hidden(merged)).not.toContain('correct horse');
    const alias = '{kind: &k Secret, item: {kind: *k, stringData: {a: correct horse battery}}}';
    expect(hidden(alias)).not.toContain('correct horse');
  });

  it('are hidden with comments behind the Secret', () => {
    expect(hidden('kind: Secret\nstringData: {a: b}\n\n# was hunter2\n')).not.toContain('hunter2');
  });

  it('are hidden in other resources however they are written there', () => {
    const random = new Random(11);
    for (let round = 0; round < 60; round++) {
      const letters = Array.from({ length: 10 + random.below(20) }, () => random.pick([...'ab9@ "\'\\&:\n']));
      const value = `x${letters.join('')}9`;
      const hider = new SecretHider();
      hideAll([JSON.stringify(secret({ stringData: { a: value } }))], hider);
      const written = [value, JSON.stringify({ a: value }), encodeURIComponent(value)];
      const node = readDocument(JSON.stringify({ kind: 'ConfigMap', data: written }), 'output')!;
      hider.inValues(node);
      const texts = toJson(node) as { data: string[] };
      for (const [at, text] of texts.data.entries()) {
        expect(text).toMatch(at === 1 ? /^\{"a":"\(secret \w{12}\)"\}$/ : /^\(secret \w{12}\)$/);
      }
    }
  });

  it('are hidden as a whole where they overlap or contain each other', () => {
    const hider = new SecretHider();
    hideAll(
      [JSON.stringify(secret({ stringData: { a: 'abcdefgh1234', b: '1234ijklmnop', c: 'fgh1234' } }))],
      hider,
    );
    expect(hider.inMessage('<abcdefgh1234ijklmnop> <fgh1234> <1234ijkl>')).toMatch(
      /^<\(secret \w{12}\)> <\(secret \w{12}\)> <1234ijkl>$/,
    );
  });

  it('are hidden in other resources and messages, if they are no common word', () => {
    const hider = new SecretHider();
    const values = { user: 'postgres', token: 'a8f5f167f44f4964e6c998dee827110c', pin: '4711x' };
    hidden(JSON.stringify(secret({ stringData: values })), hider);
    const env = 'env: [postgres, a8f5f167f44f4964e6c998dee827110c]';
    expect(hider.inResource(env)).toMatch(/^env: \[postgres, \(secret \w{12}\)\]$/);
    expect(hider.inMessage('wrong: 4711x of postgres')).not.toMatch(/4711x|postgres/);
  });

  it('cannot be guessed from the name that kustomize gave to a generated Secret', () => {
    const hider = new SecretHider();
    const generated = secret({ metadata: { name: 'db-7bf5tmk2hg' }, data: { a: base64('x') } });
    expect(hidden(JSON.stringify(generated), hider)).not.toContain('7bf5tmk2hg');
    expect(hider.inResource('secretName: db-7bf5tmk2hg')).toMatch(/^secretName: db-\(secret \w{12}\)$/);
  });

  it('leave what is no Secret as it is', () => {
    for (const kind of ['SealedSecret', 'ExternalSecret', 'SecretStore', 'ConfigMap']) {
      const text = `apiVersion: example.com/v1\nkind: ${kind}\nmetadata:\n  name: db\ndata:\n  a: Zm9v # note\n`;
      expect(hidden(text)).toBe(text);
    }
  });
});
