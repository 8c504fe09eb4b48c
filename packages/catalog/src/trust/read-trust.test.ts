import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { canonicalCatalogUrl } from '../policy/catalog-url.js';
import { toYaml } from '../render/to-yaml.js';
import { readTrust } from './read-trust.js';
import { pinnedCatalogName, trustDocument, trustEntries } from './trust.js';

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
const DIGEST = `sha256:${'a'.repeat(64)}`;
const references = (name: string, spec: object) => ({
  apiVersion,
  kind: 'CatalogTrust',
  metadata: { name },
  spec,
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

describe('a trust file', () => {
  it('contains policies and catalogs in any order, and survives a round trip', () => {
    const { trust, diagnostics } = read(
      text(
        catalog(),
        policy(),
        catalog('other', { url: 'http://localhost:8080/catalogs/a' }),
        catalog('mirror', {
          url: 'https://mirror.example.com/krm',
          catalog: 'default',
          minSerial: 7,
          maxAge: '20d',
        }),
        references('ours', {
          official: 'https://krm.example.com/catalogs/official',
          catalogs: [`oci://krm.example.com/a@${DIGEST}`],
        }),
      ),
    );
    expect(diagnostics).toEqual([]);
    expect([trust?.policies.length, trust?.catalogs.length, trust?.catalogTrust.length]).toEqual([1, 3, 1]);
    expect(trust?.catalogs[2]).toMatchObject({ minSerial: 7, maxAge: 1_728_000 });
    expect(trust?.catalogs.map(pinnedCatalogName)).toEqual(['default', 'a', 'default']);
    const again = read(text(...trustEntries(trust!).map(trustDocument)));
    expect(again.trust).toEqual(trust);
  });

  it('is read with a warning if a pin does not name its catalog', () => {
    const { trust, diagnostics } = read(text(catalog('mirror', { url: 'https://mirror.example.com/krm' })));
    expect(trust?.catalogs.map(pinnedCatalogName)).toEqual([undefined]);
    expect(diagnostics).toMatchObject([{ code: 'policy/unnamed-catalog', severity: 'warning' }]);
    expect([diagnostics[0]!.hint, diagnostics[0]!.range]).not.toContain(undefined);
  });

  it('can contain only comments', () => {
    expect(read('# nobody\n---\n').trust).toEqual({ policies: [], catalogs: [], catalogTrust: [] });
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
    ['policy/catalog-name', [catalog('default', { catalog: 'Not a name' })]],
    ['policy/missing-field', [catalog('default', { keys: [] })]],
    ['policy/missing-field', [{ ...catalog(), spec: { url: 'https://krm.example.com/a' } }]],
    ['policy/unknown-field', [catalog('default', { keys: [{ key: pem, revoked: 'lost' }] })]],
    ['policy/wrong-type', [catalog('default', { keys: pem })]],
    ['policy/key', [catalog('default', { keys: [{ key: pem.slice(0, 80) }] })]],
    ['policy/wrong-type', [catalog('default', { minSerial: '7' })]],
    ['policy/wrong-type', [catalog('default', { minSerial: 0 })]],
    ['policy/wrong-type', [catalog('default', { maxAge: '1w' })]],
    ['policy/wrong-type', [catalog('default', { maxAge: '0d' })]],
    ['policy/missing-field', [references('ours', {})]],
    ['policy/catalog-reference', [references('ours', { catalogs: ['./catalog.yaml'] })]],
    ['policy/catalog-reference', [references('ours', { catalogs: ['default'] })]],
    [
      'policy/catalog-reference',
      [references('ours', { official: 'https://user:pw@krm.example.com/c.yaml' })],
    ],
    [
      'policy/catalog-reference',
      [
        references('ours', { official: 'https://krm.example.com/a' }),
        references('theirs', { official: 'https://krm.example.com/b' }),
      ],
    ],
    ['policy/limit', [references('ours', { catalogs: Array(101).fill('https://krm.example.com/a') })]],
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
