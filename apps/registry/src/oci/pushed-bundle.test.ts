import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { BUNDLE_LIMITS } from '@krmhub/catalog';
import { bundleManifest, computeDigest, MEDIA_TYPES, type OciDigest, VERSION } from '@krmhub/oci';
import { publicKey, sha256 } from '@krmhub/schema';
import { releaseStatement, type Statement, signatureStatement } from '@krmhub/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { definitionArtifact, manifestDigest, readError, testClient } from '../testing/oci.js';
import { createStatement, newKey, policy, signedBy } from '../testing/signing.js';
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
/** A token of another publisher of the group. */
let other: string;
const client = testClient(() => registry);
beforeEach(async () => {
  registry = await openTestRegistry();
  const { secret } = await registry.token({ name: 'other', scopes: ['publish'], groups: ['example.com'] });
  other = `Bearer ${secret}`;
});
afterEach(() => registry.close());

const RELEASE = releaseStatement(
  { group: 'example.com', kind: 'SetLabels', release: '1.0.0' },
  { definition: sha256(TEXT), manifest: DIGEST },
);
const provenance: Statement = { ...RELEASE, predicateType: 'https://slsa.dev/provenance/v1', predicate: {} };

function createBundleManifest(bundle: Uint8Array, subject: OciDigest = DIGEST) {
  return bundleManifest({
    subject: { mediaType: MEDIA_TYPES.image, digest: subject, size: JSON.stringify(MANIFEST).length },
    bundle: { digest: computeDigest(bundle), size: bundle.byteLength },
    predicateType: 'https://example.com/',
    created: '2030-01-02T03:04:05Z',
  });
}

/** Pushes a bundle as a referrer of a manifest, as cosign does. */
async function pushBundle(
  bundle: Uint8Array,
  subject: OciDigest = DIGEST,
  authorization?: string,
): Promise<Response> {
  await client.blob(REPOSITORY, '{}');
  await client.blob(REPOSITORY, Buffer.from(bundle).toString('utf8'));
  const manifest = createBundleManifest(bundle, subject);
  const text = Buffer.from(manifest.bytes).toString('utf8');
  return client.put(REPOSITORY, manifest.digest, text, {
    type: MEDIA_TYPES.image,
    ...(authorization === undefined ? {} : { authorization }),
  });
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
  beforeEach(() => registry.send('PUT', '/api/v1/policies', policy([key])));

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
    for (const bundle of [Buffer.from('{}'), await signedBy(newKey(), RELEASE)]) {
      expect((await pushBundle(bundle, DIGEST, other)).status).toBe(201);
    }
    await pushBundle(await signedBy(key, RELEASE));
    expect((await pushDefinition('1.0.0')).status).toBe(201);
    expect((await bundles()).bundles).toHaveLength(1);
  });

  it('is published despite more bundles than are read', async () => {
    await pushDefinition(DIGEST);
    const store = registry.parts.store;
    const at = { at: '2030-01-02T03:04:05.678Z', by: 'other' };
    for (let count = 0; count < 2 * BUNDLE_LIMITS.maxPerRelease; count++) {
      const text = JSON.stringify({ count });
      await client.blob(REPOSITORY, text);
      const { bytes, ...manifest } = createBundleManifest(Buffer.from(text));
      await store.putManifest(REPOSITORY, { ...manifest, bytes, subject: DIGEST }, { ...at, needed: [] });
    }
    await pushBundle(await signedBy(key, RELEASE));
    expect((await pushDefinition('1.0.0')).status).toBe(201);
  });

  it('is published with a trusted signature that another token pushed', async () => {
    await pushDefinition(DIGEST);
    await pushBundle(await signedBy(key, RELEASE), DIGEST, other);
    expect((await pushDefinition('1.0.0')).status).toBe(201);
    expect(await bundles()).toMatchObject({ signature: { trusted: true } });
  });

  it('is refused if the publisher pushed an invalid bundle, until it is deleted', async () => {
    await pushDefinition(DIGEST);
    await pushBundle(await signedBy(key, RELEASE));
    await pushBundle(Buffer.from('{}'));
    expect(await readError(await pushDefinition('1.0.0'))).toMatchObject({
      code: 'DENIED',
      message: expect.stringContaining('no mediaType'),
    });
    const { digest } = createBundleManifest(Buffer.from('{}'));
    expect((await client.request('DELETE', `${REPOSITORY}/manifests/${digest}`)).status).toBe(202);
    expect((await pushDefinition('1.0.0')).status).toBe(201);
  });

  it('is refused if the signature is deleted while its tag waits for the lock', async () => {
    await pushDefinition(DIGEST);
    const signature = await signedBy(key, RELEASE);
    const held = createBundleManifest(signature).digest;
    await pushBundle(signature);
    const { functionLocks: locks } = registry.parts;
    const runLocked = locks.run.bind(locks);
    let isFirst = true;
    locks.run = async (thing, recheck, work) => {
      if (isFirst) {
        isFirst = false;
        expect((await client.request('DELETE', `${REPOSITORY}/manifests/${held}`)).status).toBe(202);
      }
      return runLocked(thing, recheck, work);
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

  it.each([
    ['RSA', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['Ed25519', () => generateKeyPairSync('ed25519')],
  ])('is not published with a bundle by a key that cannot be identified, %s', async (_, generate) => {
    await pushDefinition(DIGEST);
    const unidentified = await signedWith(generate(), RELEASE);
    expect((await pushBundle(unidentified)).status).toBe(201);
    const refused = { code: 'DENIED', message: expect.stringContaining('fingerprint of an ECDSA key') };
    expect(await readError(await pushDefinition('1.0.0'))).toMatchObject(refused);
    expect((await registry.request(releasePath({ kind: 'SetLabels', release: '1.0.0' }))).status).toBe(404);
    // A bundle of a release that exists is refused too.
    const { digest } = createBundleManifest(unidentified);
    expect((await client.request('DELETE', `${REPOSITORY}/manifests/${digest}`)).status).toBe(202);
    expect((await pushDefinition('1.0.0')).status).toBe(201);
    expect(await readError(await pushBundle(unidentified))).toMatchObject(refused);
    expect((await client.request('GET', `${REPOSITORY}/manifests/${digest}`)).status).toBe(404);
  });

  it('does not store a bundle that is not evidence for the release', async () => {
    await pushDefinition('1.0.0');
    await pushBundle(await signedBy(key, RELEASE));
    for (const bundle of [Buffer.from('{}'), await signedBy(newKey(), RELEASE)]) {
      expect(await readError(await pushBundle(bundle))).toMatchObject({ code: 'DENIED' });
    }
    expect((await bundles()).bundles).toHaveLength(1);
    const listed = await client.request('GET', `${REPOSITORY}/referrers/${DIGEST}`);
    expect(((await listed.json()) as { manifests: unknown[] }).manifests).toHaveLength(1);
  });

  it('is not pinned to a stranger whose bundle came before its tag', async () => {
    await pushDefinition(DIGEST);
    const stranger = newKey();
    expect((await pushBundle(await signedBy(stranger, RELEASE), DIGEST, other)).status).toBe(201);
    const published = await pushDefinition('1.0.0');
    expect(published.status).toBe(201);
    expect(published.headers.get('warning')).toContain('the release is not signed');
    expect((await bundles()).bundles).toEqual([]);
    expect((await pushBundle(await signedBy(key, RELEASE))).status).toBe(201);
    expect(await readError(await pushBundle(await signedBy(stranger, RELEASE)))).toMatchObject({
      code: 'DENIED',
    });
  });

  it('is pinned to its owner, whatever a stranger pushed before its tag', async () => {
    await pushDefinition(DIGEST);
    const signature = await signedBy(key, RELEASE);
    const stranger = await signedBy(newKey(), RELEASE);
    await pushBundle(stranger, DIGEST, other);
    await pushBundle(signature);
    // The last one to push it is the stranger.
    await pushBundle(signature, DIGEST, other);
    expect((await pushDefinition('1.0.0')).status).toBe(201);
    expect(await bundles()).toMatchObject({
      bundles: [{ claim: 'signature', manifest: createBundleManifest(signature).digest }],
    });
  });

  it('is published by the pinned signer, whatever a stranger pushed before its tag', async () => {
    const named = { kind: 'SetLabels', release: '0.9.0' };
    const bundle = await signedBy(key, createStatement(named));
    const first = await registry.publish(named, '', { bundles: [bundle] });
    expect(first.status).toBe(201);
    await pushDefinition(DIGEST);
    await pushBundle(await signedBy(newKey(), RELEASE), DIGEST, other);
    await pushBundle(await signedBy(key, RELEASE));
    expect((await pushDefinition('1.0.0')).status).toBe(201);
    expect((await bundles()).bundles).toHaveLength(1);
  });

  it('does not lose a signature that another publisher deletes before its tag', async () => {
    await pushDefinition(DIGEST);
    const signature = await signedBy(key, RELEASE);
    await pushBundle(signature);
    const path = `${REPOSITORY}/manifests/${createBundleManifest(signature).digest}`;
    expect(await readError(await client.request('DELETE', path, { authorization: other }))).toMatchObject({
      code: 'DENIED',
      message: expect.stringContaining('another token'),
    });
    await pushBundle(signature, DIGEST, other);
    expect((await client.request('DELETE', path, { authorization: other })).status).toBe(403);
    await pushDefinition('1.0.0');
    expect((await bundles()).bundles).toHaveLength(1);
  });

  it('takes no referrer from a publisher of another group', async () => {
    const { secret } = await registry.token({
      name: 'far',
      scopes: ['publish', 'push'],
      groups: ['far.example'],
    });
    await pushDefinition(DIGEST);
    const refused = await pushBundle(await signedBy(newKey(), RELEASE), DIGEST, `Bearer ${secret}`);
    expect(await readError(refused)).toMatchObject({ code: 'DENIED' });
  });

  it('takes the bundles of a tag that is pushed again, and no others', async () => {
    const submitted = await registry.send('PUT', releasePath({ kind: 'SetLabels', release: '1.0.0' }), TEXT);
    expect(submitted.status).toBe(201);
    const standing = await client.request('GET', `${REPOSITORY}/manifests/1.0.0`);
    const text = await standing.text();
    const digest = computeDigest(Buffer.from(text));
    const { store } = registry.parts;
    // As if it had been pushed before the release was published through the HTTP API.
    const early = await signedBy(key, { ...RELEASE, subject: readSubjects(digest) });
    await client.blob(REPOSITORY, Buffer.from(early).toString('utf8'));
    const { bytes, ...manifest } = createBundleManifest(early, digest);
    const change = { at: '2030-01-02T03:04:05.678Z', by: 'tester', needed: [] };
    await store.putManifest(REPOSITORY, { ...manifest, bytes, subject: digest }, change);
    expect((await client.put(REPOSITORY, '1.0.0', text)).status).toBe(201);
    expect(await bundles()).toMatchObject({ bundles: [{ claim: 'signature' }] });
    expect((await pushDefinition('1.0.0')).status).toBe(201);
    expect((await bundles()).bundles).toHaveLength(1);
  });
});

/** Signs as another program would, with a key of any type (DSSE, "Protocol"). */
async function signedWith(
  pair: { publicKey: KeyObject; privateKey: KeyObject },
  statement: Statement,
): Promise<Uint8Array> {
  const bundle = JSON.parse(Buffer.from(await signedBy(newKey(), statement)).toString('utf8'));
  const { payload, payloadType, signatures } = bundle.dsseEnvelope;
  const bytes = Buffer.from(payload, 'base64');
  const signed = Buffer.concat([
    Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${bytes.length} `),
    bytes,
  ]);
  const algorithm = pair.privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  signatures[0].sig = sign(algorithm, signed, pair.privateKey).toString('base64');
  const { fingerprint } = publicKey(pair.publicKey, 'a key');
  bundle.verificationMaterial.publicKey.hint = Buffer.from(fingerprint.slice(7), 'hex').toString('base64');
  return Buffer.from(JSON.stringify(bundle));
}

function readSubjects(manifest: OciDigest): Statement['subject'] {
  return releaseStatement(
    { group: 'example.com', kind: 'SetLabels', release: '1.0.0' },
    { definition: sha256(TEXT), manifest },
  ).subject;
}
