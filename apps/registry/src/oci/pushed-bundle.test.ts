import { bundleManifest, computeDigest, MEDIA_TYPES, type OciDigest, VERSION } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { releaseStatement, type Statement, signatureStatement } from '@krmhub/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { definitionArtifact, manifestDigest, readError, testClient } from '../testing/oci.js';
import { newKey, policy, signedBy } from '../testing/signing.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../testing/test-registry.js';

const REPOSITORY = 'functions/example.com/setlabels';
const TEXT = definitionText({ kind: 'SetLabels', release: '1.0.0' });
const MANIFEST = definitionArtifact(TEXT, { annotations: { [VERSION]: '1.0.0' } });
const DIGEST = manifestDigest(MANIFEST);
const key = newKey();

let registry: TestRegistry;
let authorization: string;
const client = testClient(
  () => registry,
  () => authorization,
);
beforeEach(async () => {
  registry = await openTestRegistry();
  authorization = `Bearer ${(await registry.token({})).secret}`;
});
afterEach(() => registry.close());

const RELEASE = releaseStatement(
  { group: 'example.com', kind: 'SetLabels', release: '1.0.0' },
  { definition: sha256(TEXT), manifest: DIGEST },
);
const provenance: Statement = { ...RELEASE, predicateType: 'https://slsa.dev/provenance/v1', predicate: {} };

async function apply(text: string): Promise<void> {
  const response = await registry.request('/api/v1/policies', {
    method: 'PUT',
    body: text,
    headers: { 'Content-Type': 'application/yaml', Authorization: authorization },
  });
  expect(response.status).toBe(200);
}

function bundleManifestOf(bundle: Uint8Array, subject: OciDigest = DIGEST) {
  return bundleManifest({
    subject: { mediaType: MEDIA_TYPES.image, digest: subject, size: JSON.stringify(MANIFEST).length },
    bundle: { digest: computeDigest(bundle), size: bundle.byteLength },
    predicateType: 'https://example.com/',
    created: '2030-01-02T03:04:05Z',
  });
}

/** Pushes a bundle as a referrer of a manifest, as cosign does. */
async function pushBundle(bundle: Uint8Array, subject: OciDigest = DIGEST): Promise<Response> {
  await client.blob(REPOSITORY, '{}');
  await client.blob(REPOSITORY, Buffer.from(bundle).toString('utf8'));
  const manifest = bundleManifestOf(bundle, subject);
  const text = Buffer.from(manifest.bytes).toString('utf8');
  return client.put(REPOSITORY, manifest.digest, text, { type: MEDIA_TYPES.image });
}

async function pushDefinition(reference: string, manifest: object = MANIFEST): Promise<Response> {
  await client.blob(REPOSITORY, '{}');
  await client.blob(REPOSITORY, TEXT);
  return client.put(REPOSITORY, reference, manifest);
}

async function bundles(): Promise<{
  bundles: { claim: string; manifest: string }[];
  signature: { trusted: boolean };
}> {
  const path = `${releasePath({ kind: 'SetLabels', release: '1.0.0' })}/bundles`;
  return (await registry.request(path)).json() as never;
}

describe('a function whose group has a policy', () => {
  beforeEach(() => apply(policy([key])));

  it('is published by its tag if the manifest has a good signature', async () => {
    expect((await pushDefinition(DIGEST)).status).toBe(201);
    expect((await pushBundle(await signedBy(key, RELEASE))).status).toBe(201);
    expect((await pushDefinition('1.0.0')).status).toBe(201);
    expect(await bundles()).toMatchObject({
      bundles: [{ claim: 'signature' }],
      signature: { trusted: true },
    });
  });

  it('is published with a signature of its manifest, as cosign makes it', async () => {
    await pushDefinition(DIGEST);
    await pushBundle(await signedBy(key, signatureStatement({ manifest: DIGEST })));
    expect((await pushDefinition('1.0.0')).status).toBe(201);
  });

  it('is refused without a signature, and with a signature of a manifest that names another release', async () => {
    expect(await readError(await pushDefinition('1.0.0'))).toMatchObject({
      code: 'DENIED',
      message: expect.stringContaining('it is not signed'),
    });
    const other = definitionArtifact(TEXT, { annotations: { [VERSION]: '9.9.9' } });
    await pushDefinition(manifestDigest(other), other);
    await pushBundle(
      await signedBy(key, signatureStatement({ manifest: manifestDigest(other) })),
      manifestDigest(other),
    );
    const refused = await readError(await pushDefinition('1.0.0', other));
    expect(refused).toMatchObject({ code: 'DENIED', message: expect.stringContaining('9.9.9, not 1.0.0') });
  });

  it('is published despite invalid bundles that others attached', async () => {
    await pushDefinition(DIGEST);
    await pushBundle(Buffer.from('{}'));
    await pushBundle(await signedBy(newKey(), RELEASE));
    await pushBundle(await signedBy(key, RELEASE));
    expect((await pushDefinition('1.0.0')).status).toBe(201);
    expect((await bundles()).bundles).toHaveLength(1);
  });

  it('is refused if the signature is deleted while its tag waits for the lock', async () => {
    await pushDefinition(DIGEST);
    const signature = await signedBy(key, RELEASE);
    const held = bundleManifestOf(signature).digest;
    await pushBundle(signature);
    const { functionLocks: locks } = registry.parts;
    const runLocked = locks.run.bind(locks);
    let isFirst = true;
    locks.run = async (thing, work) => {
      if (isFirst) {
        isFirst = false;
        expect((await client.request('DELETE', `${REPOSITORY}/manifests/${held}`)).status).toBe(202);
      }
      return runLocked(thing, work);
    };
    expect(await readError(await pushDefinition('1.0.0'))).toMatchObject({ code: 'DENIED' });
  });

  it('accepts later evidence, refuses an untrusted signer, and protects its evidence from deletion', async () => {
    await pushDefinition(DIGEST);
    await pushBundle(await signedBy(key, RELEASE));
    await pushDefinition('1.0.0');
    expect((await pushBundle(await signedBy(key, provenance))).status).toBe(201);
    const { bundles: storedBundles } = await bundles();
    expect(storedBundles.map(({ claim }) => claim)).toEqual(['signature', 'attestation']);
    expect(await readError(await pushBundle(await signedBy(newKey(), RELEASE)))).toMatchObject({
      code: 'DENIED',
    });
    for (const { manifest } of storedBundles) {
      const response = await client.request('DELETE', `${REPOSITORY}/manifests/${manifest}`);
      expect(await readError(response)).toMatchObject({
        code: 'DENIED',
        message: expect.stringContaining('cannot delete a bundle of a release'),
      });
    }
  });
});

describe('a function without a policy', () => {
  it('stores a bundle by an unknown key as evidence', async () => {
    await pushDefinition('1.0.0');
    expect((await pushBundle(await signedBy(key, RELEASE))).status).toBe(201);
    expect(await bundles()).toMatchObject({
      bundles: [{ claim: 'signature' }],
      signature: { trusted: false },
    });
  });

  it('stores other bundles as ordinary artifacts', async () => {
    await pushDefinition('1.0.0');
    expect((await pushBundle(Buffer.from('{}'))).status).toBe(201);
    expect((await bundles()).bundles).toEqual([]);
  });
});
