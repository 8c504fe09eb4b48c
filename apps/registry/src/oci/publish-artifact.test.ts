import { ARTIFACT_MEDIA_TYPES, MEDIA_TYPES, type OciDigest } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  definitionArtifact,
  descriptor,
  type ErrorResponse,
  imageManifest,
  manifestDigest,
  readError,
  testClient,
} from '../testing/oci.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestDefinition,
  type TestRegistry,
} from '../testing/test-registry.js';

const REPOSITORY = 'functions/example.com/setlabels';
const DEFINITION: TestDefinition = { kind: 'SetLabels', release: '0.3.0' };
const TEXT = definitionText(DEFINITION);

const JSON_TEXT = JSON.stringify({
  apiVersion: 'config.kubernetes.io/v1alpha1',
  kind: 'KRMFunctionDefinition',
  spec: {
    group: 'example.com',
    names: { kind: 'SetLabels' },
    description: 'Sets labels.',
    publisher: 'Example Co',
    versions: [
      {
        name: 'v1',
        schema: { openAPIV3Schema: { type: 'object', description: 'How it is configured.' } },
        idempotent: true,
        runtime: { container: { image: 'registry.example.com/set-labels:v0.3.0', sha256: 'a'.repeat(64) } },
        usage: 'https://example.com/usage.md',
        examples: ['https://example.com/example.yaml'],
        license: 'Apache-2.0',
      },
    ],
  },
});

let registry: TestRegistry;
const client = testClient(() => registry);
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const put = (manifest: object, tag = '0.3.0', repository = REPOSITORY) =>
  client.put(repository, tag, manifest);
const read = (reference: string, repository = REPOSITORY) =>
  client.request('GET', `${repository}/manifests/${reference}`, { authorization: '' });
const tags = async (repository = REPOSITORY) => {
  const response = await client.request('GET', `${repository}/tags/list`);
  return response.status === 200 ? ((await response.json()) as { tags: string[] }).tags : undefined;
};

async function pushed(manifest: object, layers: string[], tag?: string): Promise<OciDigest> {
  for (const layer of layers) await client.blob(REPOSITORY, layer);
  const response = await put(manifest, tag);
  expect([response.status, await response.text()]).toEqual([201, '']);
  expect(response.headers.get('docker-content-digest')).toBe(manifestDigest(manifest));
  return manifestDigest(manifest);
}

async function refused(manifest: object, tag = '0.3.0'): Promise<ErrorResponse> {
  // A built snapshot is an event too.
  await registry.waitForCatalogs();
  const events = await registry.parts.store.lastEvent();
  const before = await tags();
  const refusal = await readError(await put(manifest, tag));
  expect(await registry.parts.store.lastEvent()).toBe(events);
  expect(await tags()).toEqual(before);
  expect((await read(manifestDigest(manifest))).status).toBe(404);
  return refusal;
}

interface Found {
  detail: { diagnostics: { code: string; severity: string }[] };
}
/** Without warnings: the samples have addresses of documentation. */
const listCodes = ({ detail }: ErrorResponse) =>
  (detail as Found['detail']).diagnostics
    .map(({ code }) => code)
    .filter((code) => code !== 'placeholder/address');

describe('putting a tag of a function', () => {
  it('publishes a release', async () => {
    const digest = await pushed(definitionArtifact(DEFINITION), [TEXT]);
    const response = await registry.request(releasePath(DEFINITION));
    expect(await response.json()).toMatchObject({
      group: 'example.com',
      kind: 'SetLabels',
      release: '0.3.0',
      digest: sha256(TEXT),
      publishedBy: 'tester',
    });
    const definition = await registry.request(`${releasePath(DEFINITION)}/definition.yaml`);
    expect(await definition.text()).toBe(TEXT);
    expect((await read('0.3.0')).headers.get('docker-content-digest')).toBe(digest);
    await registry.waitForCatalogs();
    expect(await (await registry.request('/catalogs/default/catalog.yaml')).text()).toContain('SetLabels');
  });

  it('accepts every spelling of the version, in reads too, and stores the canonical one', async () => {
    const digest = await pushed(definitionArtifact(DEFINITION), [TEXT], 'v0.3');
    expect(await tags()).toEqual(['0.3.0']);
    for (const tag of ['v0.3', '0.3', '0.3.0', 'v0.3.0']) {
      expect([tag, (await read(tag)).headers.get('docker-content-digest')]).toEqual([tag, digest]);
      expect((await client.request('HEAD', `${REPOSITORY}/manifests/${tag}`)).status).toBe(200);
    }
    expect((await read('0.3.1')).status).toBe(404);
    expect((await read('latest')).status).toBe(404);
  });

  it('changes nothing for the same artifact', async () => {
    const digest = await pushed(definitionArtifact(DEFINITION), [TEXT]);
    const events = await registry.parts.store.lastEvent();
    await pushed(definitionArtifact(DEFINITION), [], 'v0.3');
    expect(await tags()).toEqual(['0.3.0']);
    expect((await read('0.3.0')).headers.get('docker-content-digest')).toBe(digest);
    const after = await registry.parts.store.events(events, 10);
    expect(after.filter(({ type }) => type.startsWith('release'))).toEqual([]);
  });

  it('stores another manifest with the same definition, and does not move the tag', async () => {
    const first = await pushed(definitionArtifact(DEFINITION), [TEXT]);
    const other = definitionArtifact(DEFINITION, { annotations: { a: 'b' } });
    const second = await pushed(other, []);
    expect(second).not.toBe(first);
    expect((await read('0.3.0')).headers.get('docker-content-digest')).toBe(first);
    for (const digest of [first, second]) expect((await read(digest)).status).toBe(200);
    expect(await tags()).toEqual(['0.3.0']);
  });

  it('does not change the artifact of a release that was published over HTTP', async () => {
    await registry.publish(DEFINITION);
    const made = (await read('0.3.0')).headers.get('docker-content-digest')!;
    const second = await pushed(definitionArtifact(DEFINITION), []);
    expect((await read('0.3.0')).headers.get('docker-content-digest')).toBe(made);
    expect((await read(second)).status).toBe(200);
  });

  it('denies other bytes', async () => {
    await pushed(definitionArtifact(DEFINITION), [TEXT]);
    const other = `${TEXT}# another\n`;
    await client.blob(REPOSITORY, other);
    const refusal = await refused(definitionArtifact(other));
    expect(refusal).toMatchObject({ status: 403, code: 'DENIED' });
    expect(refusal.message).toContain('A release cannot change');
  });

  it('takes the spelling of the kind from the definition, and requires it later', async () => {
    await pushed(definitionArtifact(DEFINITION), [TEXT]);
    const response = await registry.request('/api/v1/functions/example.com/setlabels');
    expect(await response.json()).toMatchObject({ kind: 'SetLabels' });
    const other = definitionText({ kind: 'SETLabels', release: '0.4.0' });
    await client.blob(REPOSITORY, other);
    const refusal = await refused(definitionArtifact(other), '0.4.0');
    expect(refusal).toMatchObject({ status: 400, code: 'MANIFEST_INVALID' });
    expect(listCodes(refusal)).toContain('publish/name-mismatch');
  });

  it.each<[string, TestDefinition]>([
    ['another kind', { kind: 'SetLabel', release: '0.3.0' }],
    ['another group', { group: 'other.com', kind: 'SetLabels', release: '0.3.0' }],
  ])('with a definition of %s is refused', async (_, definition) => {
    await client.blob(REPOSITORY, definitionText(definition));
    const refusal = await refused(definitionArtifact(definition));
    expect([refusal.code, listCodes(refusal)]).toEqual(['MANIFEST_INVALID', ['publish/name-mismatch']]);
  });

  it.each(['latest', 'v1.2.3.4', 'x', '1.0.0_1', '1.0.0-01'])('refuses the tag %s', async (tag) => {
    await client.blob(REPOSITORY, TEXT);
    const refusal = await refused(definitionArtifact(DEFINITION), tag);
    expect([refusal.status, refusal.code]).toEqual([400, 'MANIFEST_INVALID']);
    expect(listCodes(refusal)).toEqual(['publish/release']);
  });

  it('refuses a definition that fails lint, with its diagnostics', async () => {
    const bad = TEXT.replace(
      'kind: KRMFunctionDefinition',
      'kind: KRMFunctionDefinition\nsurprise: 1',
    ).replace('group: example.com', 'group: example.com\n  names2: {}');
    await client.blob(REPOSITORY, bad);
    const refusal = await refused(definitionArtifact(bad));
    expect([refusal.status, refusal.code]).toEqual([400, 'MANIFEST_INVALID']);
    const { diagnostics } = (refusal as unknown as Found).detail;
    const error = diagnostics.find(({ severity }) => severity === 'error');
    expect(error).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    expect(refusal.message).toContain((error as unknown as { message: string }).message);
  });
});

describe('the artifact of a definition', () => {
  it('may have a README', async () => {
    const artifact = definitionArtifact(DEFINITION, { readme: '# Labels\n' });
    await pushed(artifact, [TEXT, '# Labels\n']);
    const readme = await registry.request(`${releasePath(DEFINITION)}/readme.md`);
    expect(await readme.text()).toBe('# Labels\n');
  });

  it('may be JSON, according to its title', async () => {
    await pushed(definitionArtifact(JSON_TEXT, { title: 'definition.json' }), [JSON_TEXT]);
    const response = await registry.request(`${releasePath(DEFINITION)}/definition.yaml`);
    expect([response.headers.get('content-type'), await response.text()]).toEqual([
      expect.stringContaining('application/json'),
      JSON_TEXT,
    ]);
    await client.blob(REPOSITORY, TEXT);
    const refusal = await refused(definitionArtifact(DEFINITION, { title: 'x.json' }), '0.4.0');
    expect([refusal.code, listCodes(refusal)]).toEqual(['MANIFEST_INVALID', ['publish/media-type']]);
  });

  it('may be recognized by its layer alone', async () => {
    const { artifactType: _, ...plain } = definitionArtifact(DEFINITION);
    await pushed(plain, [TEXT]);
  });

  const layer = ARTIFACT_MEDIA_TYPES.definition.layer;
  it.each<[string, object, RegExp]>([
    ['an image', imageManifest(['x']), /not a function definition/],
    [
      'an index',
      { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [] },
      /not a function definition/,
    ],
    [
      'a catalog',
      definitionArtifact(DEFINITION, { artifactType: ARTIFACT_MEDIA_TYPES.catalog.artifact }),
      /not a function definition/,
    ],
    ['no layer', definitionArtifact(DEFINITION, { layers: [] }), /has no layer .*: none/],
    [
      'another layer',
      definitionArtifact(DEFINITION, { layers: [descriptor(TEXT, 'text/plain')] }),
      /has no layer/,
    ],
    [
      'two definitions',
      definitionArtifact(DEFINITION, { layers: [descriptor(TEXT, layer), descriptor('x', layer)] }),
      /has 2 layers/,
    ],
    [
      'two READMEs',
      definitionArtifact(DEFINITION, {
        layers: [descriptor(TEXT, layer), ...['a', 'b'].map((text) => descriptor(text, 'text/markdown'))],
      }),
      /at most one README, found 2/,
    ],
  ])('is not %s', async (_, manifest, message) => {
    for (const text of [TEXT, 'x', 'a', 'b']) await client.blob(REPOSITORY, text);
    const refusal = await refused(manifest);
    expect([refusal.status, refusal.code]).toEqual([400, 'MANIFEST_INVALID']);
    expect(refusal.message).toMatch(message);
  });

  it('needs all of its blobs in the repository', async () => {
    const extra = descriptor('extra', 'text/x-extra');
    const whole = definitionArtifact(DEFINITION, { readme: '# R\n' });
    const manifest = { ...whole, layers: [...whole.layers, extra] };
    for (const missing of [TEXT, '# R\n', 'extra']) {
      const refusal = await refused(manifest);
      expect([refusal.status, refusal.code]).toEqual([404, 'MANIFEST_BLOB_UNKNOWN']);
      expect(refusal.detail).toContainEqual({ digest: sha256(missing) });
      await client.blob(REPOSITORY, missing);
    }
    await pushed(manifest, []);
  });

  it('cannot have a definition or a README over the size limit', async () => {
    const { DOCUMENT_LIMITS } = await import('@krmhub/schema');
    const { PUBLISH_LIMITS } = await import('@krmhub/catalog');
    const large = `${TEXT}#${' '.repeat(DOCUMENT_LIMITS.maxDefinitionBytes)}`;
    await client.blob(REPOSITORY, large);
    expect((await refused(definitionArtifact(large))).message).toContain('the limit is');
    const readme = 'x'.repeat(PUBLISH_LIMITS.maxReadmeBytes + 1);
    await client.blob(REPOSITORY, TEXT);
    await client.blob(REPOSITORY, readme);
    const refusal = await refused(definitionArtifact(DEFINITION, { readme }));
    expect(refusal.message).toContain('layer text/markdown has');
  });

  it('is planned in a separate process if it is large, under the spelling of the definition', async () => {
    const large = `${TEXT}${'# a line of many\n'.repeat(2_000)}`;
    expect(large.length).toBeGreaterThan(16_384);
    await pushed(definitionArtifact(large), [large]);
    const response = await registry.request('/api/v1/functions/example.com/setlabels');
    expect(await response.json()).toMatchObject({ kind: 'SetLabels' });
    const bad = large.replace('group: example.com', 'group: other.com');
    await client.blob(REPOSITORY, bad);
    expect(listCodes(await refused(definitionArtifact(bad), '0.4.0'))).toEqual(['publish/name-mismatch']);
  });
});

describe('a breaking change', () => {
  const broken = TEXT.replace('          labels:', '          renamed:');
  beforeEach(async () => {
    await pushed(definitionArtifact(DEFINITION), [TEXT]);
  });

  it('is refused, and published if the artifact allows breaking changes', async () => {
    await client.blob(REPOSITORY, broken);
    const refusal = await refused(definitionArtifact(broken), '0.3.1');
    expect([refusal.code, listCodes(refusal)]).toEqual([
      'MANIFEST_INVALID',
      expect.arrayContaining(['publish/breaking']),
    ]);
    for (const value of ['false', 'TRUE', '']) {
      const annotations = { 'dev.krmhub.allow-breaking': value };
      await refused(definitionArtifact(broken, { annotations }), '0.3.1');
    }
    await pushed(
      definitionArtifact(broken, { annotations: { 'dev.krmhub.allow-breaking': 'true' } }),
      [],
      '0.3.1',
    );
  });
});

describe('a manifest that is not a release', () => {
  it('is put by digest, and has no tag', async () => {
    const digest = await client.image(REPOSITORY, manifestDigest(imageManifest(['x'])), ['x']);
    expect((await read(digest)).status).toBe(200);
    expect(await tags()).toEqual([]);
    const tagged = await readError(await put(imageManifest(['x']), `${digest}?tag=1.0.0`));
    expect([tagged.status, tagged.code, tagged.message]).toEqual([
      403,
      'DENIED',
      'a release has exactly one tag',
    ]);
    expect((await client.request('DELETE', `${REPOSITORY}/manifests/${digest}`)).status).toBe(202);
  });

  it('refers to a release under the fallback tags of clients without referrers', async () => {
    const digest = await pushed(definitionArtifact(DEFINITION), [TEXT]);
    const tag = `${digest.replace(':', '-')}.sig`;
    await client.image(REPOSITORY, tag, ['signature']);
    expect(await tags()).toEqual(['0.3.0', tag]);
    expect((await client.request('DELETE', `${REPOSITORY}/manifests/${tag}`)).status).toBe(202);
    expect(await tags()).toEqual(['0.3.0']);
  });

  it('can be deleted, but a release cannot, by any of its names', async () => {
    const digest = await pushed(definitionArtifact(DEFINITION), [TEXT]);
    for (const reference of ['0.3.0', 'v0.3', '9.9.9', 'latest', digest]) {
      const response = await client.request('DELETE', `${REPOSITORY}/manifests/${reference}`);
      expect(await readError(response)).toMatchObject({ status: 403, code: 'DENIED' });
    }
    const blob = await client.request('DELETE', `${REPOSITORY}/blobs/${sha256(TEXT)}`);
    expect(await readError(blob)).toMatchObject({ status: 405, code: 'UNSUPPORTED' });
    expect((await read(digest)).status).toBe(200);
  });

  it('cannot be deleted while it becomes a release', async () => {
    const artifact = definitionArtifact(DEFINITION);
    await client.blob(REPOSITORY, TEXT);
    const digest = manifestDigest(artifact);
    expect((await put(artifact, digest)).status).toBe(201);
    const [published, removed] = await Promise.all([
      put(artifact),
      client.request('DELETE', `${REPOSITORY}/manifests/${digest}`),
    ]);
    expect(published.status).toBe(201);
    // Either request may win.
    expect([202, 403]).toContain(removed.status);
    expect((await read('0.3.0')).status).toBe(200);
  });
});
