import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { toYaml } from '../render/to-yaml.js';
import { readTrust } from './read-trust.js';
import { canonicalCatalogUrl, trustDocument } from './trust.js';

const pem = String(
  generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey.export({ type: 'spki', format: 'pem' }),
);
const apiVersion = 'krmhub.dev/v1alpha1';
const catalog = (name = 'default', spec: object = {}) => ({
  apiVersion,
  kind: 'TrustedCatalog',
  metadata: { name },
  spec: { url: 'https://krm.example.com/catalogs/default', keys: [{ key: pem }], ...spec },
});
const policy = (name = 'team') => ({
  apiVersion,
  kind: 'SigningPolicy',
  metadata: { name },
  spec: {
    groups: ['example.com'],
    releases: '>=1.0.0',
    signers: [{ key: pem, validUntil: '2030-01-01T00:00:00Z' }],
  },
});

const text = (...documents: object[]) =>
  documents.map((document) => `---\n${toYaml(JSON.parse(JSON.stringify(document)))}`).join('');
const read = (written: string) => readTrust(new TextEncoder().encode(written), 'trust.yaml');
const codes = (...documents: object[]) => read(text(...documents)).diagnostics.map(({ code }) => code);

describe('a file of trust', () => {
  it('holds policies and catalogs in any order, and is written as it is read', () => {
    const { trust, diagnostics } = read(
      text(catalog(), policy(), catalog('other', { url: 'http://localhost:8080/catalogs/a' })),
    );
    expect(diagnostics).toEqual([]);
    expect([trust?.policies.length, trust?.catalogs.length]).toEqual([1, 2]);
    const again = read(text(...[...trust!.policies, ...trust!.catalogs].map(trustDocument)));
    expect(again.trust).toEqual(trust);
  });

  it('may hold comments alone', () => {
    expect(read('# nobody\n---\n').trust).toEqual({ policies: [], catalogs: [] });
  });

  it.each<[string, object[]]>([
    ['policy/document', [{ ...policy(), kind: 'ConfigMap' }]],
    ['policy/document', [{ ...catalog(), apiVersion: 'v1' }]],
    ['policy/name', [policy('same'), catalog('same')]],
    ['policy/name', [catalog('No')]],
    ['policy/catalog-url', [catalog('default', { url: 'ftp://krm.example.com' })]],
    [
      'policy/catalog-url',
      [catalog(), catalog('other', { url: 'https://krm.example.com/catalogs/default/catalog.yaml' })],
    ],
    ['policy/missing-field', [catalog('default', { keys: [] })]],
    ['policy/missing-field', [{ ...catalog(), spec: { url: 'https://krm.example.com/a' } }]],
    ['policy/unknown-field', [catalog('default', { keys: [{ key: pem, revoked: 'lost' }] })]],
    ['policy/wrong-type', [catalog('default', { keys: pem })]],
    ['policy/key', [catalog('default', { keys: [{ key: pem.slice(0, 80) }] })]],
    ['policy/time', [catalog('default', { keys: [{ key: pem, validUntil: 'soon' }] })]],
  ])('is refused with %s', (code, documents) => {
    expect(read(text(...documents)).trust).toBeUndefined();
    expect(codes(...documents)).toContain(code);
  });

  it('reports the position of a problem', () => {
    const [diagnostic] = read(`${text(policy())}${text(catalog('default', { url: 'no' }))}`).diagnostics;
    expect(diagnostic).toMatchObject({ path: 'spec.url', range: { start: { line: 23 } } });
  });
});

it.each([
  ['https://KRM.example.com/catalogs/a/', 'https://krm.example.com/catalogs/a'],
  ['https://krm.example.com/catalogs/a/catalog.json', 'https://krm.example.com/catalogs/a'],
  ['https://user:password@krm.example.com/catalogs/a', undefined],
  ['file:///catalogs/a', undefined],
  ['catalogs/a', undefined],
])('%s is the address %s', (written, address) => {
  expect(canonicalCatalogUrl(written)).toBe(address);
});
