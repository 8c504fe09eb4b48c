import type { BlobStore } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { signatureStatement } from '@krmhub/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createStatement, newKey, policy, signedBy, type TestKey } from '../../testing/signing.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';

let registry: TestRegistry;

beforeEach(async () => {
  registry = await openTestRegistry();
});

afterEach(() => registry.close());

const KIND = 'SetLabels';
const named = (release: string) => ({ kind: KIND, release });
const applyPolicies = (text: string, query = '') =>
  registry.send<Record<string, unknown> & { code?: string }>('PUT', `/api/v1/policies${query}`, text);
const publish = (release: string, bundles: readonly (Uint8Array | string)[] = [], query = '') =>
  registry.publish(named(release), query, { bundles });
const attach = (release: string, bundle: Uint8Array) => registry.attach(named(release), bundle);
async function listed(blobs: Pick<BlobStore, 'list'>): Promise<string[]> {
  const digests: string[] = [];
  for await (const digest of blobs.list()) digests.push(digest);
  return digests;
}
const read = async (target: string) => (await registry.send<Record<string, unknown>>('GET', target)).body;

describe('a group with a signing policy', () => {
  const key = newKey();

  beforeEach(async () => {
    expect((await applyPolicies(policy([key]))).status).toBe(200);
  });

  it('accepts a release that the right key signed, and reports the signer and the policy', async () => {
    expect((await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))])).status).toBe(201);
    const verdict = { trusted: true, signer: `the key ${key.fingerprint}`, policy: 'team' };
    expect(await read(releasePath(named('1.0.0')))).toMatchObject({ signature: verdict });
    const { items } = (await read('/api/v1/functions')) as { items: { signedBy: string[] }[] };
    expect(items[0]?.signedBy).toEqual([`the key ${key.fingerprint} (policy team)`]);
    expect(await read(`/api/v1/functions/example.com/${KIND}`)).toMatchObject({
      newest: { signature: verdict },
    });
  });

  it('stores the bundle byte for byte, also as a referrer of the manifest', async () => {
    const bundle = await signedBy(key, createStatement(named('1.0.0')));
    await publish('1.0.0', [bundle]);
    const { bundles } = (await read(`${releasePath(named('1.0.0'))}/bundles`)) as {
      bundles: { digest: string; manifest: string }[];
    };
    expect(bundles.map(({ digest }) => digest)).toEqual([sha256(bundle)]);
    const path = `${releasePath(named('1.0.0'))}/bundles/${sha256(bundle)}`;
    expect(new Uint8Array(await (await registry.request(path)).arrayBuffer())).toEqual(bundle);
    const { store, artifacts } = registry.parts;
    expect(await store.blob('functions/example.com/setlabels', sha256(bundle))).toMatchObject({
      place: 'rows',
    });
    expect(await store.rowBytes(sha256(bundle))).toEqual(Buffer.from(bundle));
    expect(await listed(artifacts)).toEqual([]);
    const statement = createStatement(named('1.0.0'));
    const manifest = `sha256:${statement.subject[0]?.digest.sha256}`;
    const referrers = await read(`/v2/functions/example.com/setlabels/referrers/${manifest}`);
    expect(referrers.manifests).toMatchObject([
      {
        digest: bundles[0]?.manifest,
        artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
        annotations: { 'dev.sigstore.bundle.content': 'dsse-envelope' },
      },
    ]);
  });

  it.each(['published', 'attached'])('stores a large bundle as a file (%s)', async (how) => {
    const statement = createStatement(named('1.0.0'));
    const test = {
      ...statement,
      predicateType: 'https://example.com/parts/v1',
      predicate: { text: 'x'.repeat(40_000) },
    };
    const signature = await signedBy(key, statement);
    const large = await signedBy(key, test);
    expect((await publish('1.0.0', how === 'published' ? [signature, large] : [signature])).status).toBe(201);
    if (how === 'attached') expect((await attach('1.0.0', large)).status).toBe(200);
    expect(await listed(registry.parts.artifacts)).toEqual([sha256(large)]);
    const path = `${releasePath(named('1.0.0'))}/bundles/${sha256(large)}`;
    expect(new Uint8Array(await (await registry.request(path)).arrayBuffer())).toEqual(large);
  });

  const refused: [string, () => Promise<(Uint8Array | string)[]>, string][] = [
    ['no bundle', async () => [], 'it is not signed'],
    [
      'another key',
      async () => [await signedBy(newKey(), createStatement(named('1.0.0')))],
      'which is not trusted',
    ],
    [
      'another release of the same key',
      async () => [await signedBy(key, createStatement(named('1.0.0'), { claimed: { release: '9.9.9' } }))],
      'the signature is for example.com/SetLabels@9.9.9',
    ],
    [
      'the signature of other bytes',
      async () => [await signedBy(key, createStatement(named('2.0.0')))],
      'not for this artifact',
    ],
    ['an empty bundle', async () => [''], 'it is empty'],
    ['{}', async () => ['{}'], 'no mediaType'],
    ['null', async () => ['null'], 'not a JSON object'],
    [
      'half a bundle',
      async () => [(await signedBy(key, createStatement(named('1.0.0')))).slice(0, 400)],
      'not valid JSON',
    ],
    [
      'an attestation alone',
      async () => [
        await signedBy(key, {
          ...createStatement(named('1.0.0')),
          predicateType: 'https://slsa.dev/provenance/v1',
        }),
      ],
      'it is not signed',
    ],
    [
      'a signature that names no release',
      async () => [
        await signedBy(
          key,
          signatureStatement({ definition: sha256(definitionText({ kind: KIND, release: '1.0.0' })) }),
        ),
      ],
      'a plain signature must be for the manifest',
    ],
    [
      'a predicate with more than a release',
      async () => [
        await signedBy(key, {
          ...createStatement(named('1.0.0')),
          predicate: { ...createStatement(named('1.0.0')).predicate, latest: true },
        }),
      ],
      'invalid release predicate',
    ],
    ['two signatures in one envelope', async () => [await twice(key)], 'one signature'],
    ['another payload type', async () => [await retyped(key)], 'not application/vnd.in-toto+json'],
  ];
  it.each(refused)('refuses %s', async (_, bundles, reason) => {
    const { status, body } = await publish('1.0.0', await bundles());
    expect(body.detail).toContain(reason);
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'untrusted' });
    expect((await registry.request(releasePath(named('1.0.0')))).status).toBe(404);
  });

  it('accepts a signature of the manifest if it names the release', async () => {
    const [manifest] = createStatement(named('1.0.0')).subject;
    const bundle = await signedBy(key, signatureStatement({ manifest: `sha256:${manifest!.digest.sha256}` }));
    expect((await publish('1.0.0', [bundle])).status).toBe(201);
  });

  it('refuses a later release without a signature', async () => {
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    const { status, body } = await publish('1.1.0');
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'untrusted' });
  });

  it('refuses policies without a policy, unless all are to be removed', async () => {
    expect((await applyPolicies('', '?remove=true')).status).toBe(200);
    for (const text of ['', '# nothing\n', '---\n---\n']) {
      const refused = await applyPolicies(text);
      expect([refused.status, refused.body.code]).toEqual([422, 'invalid-document']);
    }
  });

  it('refuses an unsigned release also after the policy was removed', async () => {
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    expect((await applyPolicies('')).status).toBe(409);
    expect((await applyPolicies('', '?remove=true')).status).toBe(200);
    const { status, body } = await publish('1.1.0');
    expect(status).toBe(422);
    expect(body.detail).toContain('previous releases are signed by');
  });

  it('refuses a retired key, and still trusts its earlier signatures', async () => {
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    const until = new Date(Date.now() + 60_000).toISOString();
    await applyPolicies(policy([key], { signer: `validUntil: "${until}"` }));
    registry.advance(120_000);
    const { status, body } = await publish('1.1.0', [await signedBy(key, createStatement(named('1.1.0')))]);
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'untrusted' });
    expect(body.detail).toContain(`trusted this signer only until ${until}`);
    expect(await read(releasePath(named('1.0.0')))).toMatchObject({
      signature: { trusted: true },
    });
  });

  it('trusts no signature of a revoked key, whenever it was made', async () => {
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    const revoked = policy([key], { signer: 'revoked: the laptop was stolen' });
    const result = await applyPolicies(revoked);
    expect(result.body).toMatchObject({ outcome: 'changed', changed: 1, changes: [{ release: '1.0.0' }] });
    expect(await read(releasePath(named('1.0.0')))).toMatchObject({
      signature: { trusted: false, policy: 'team', reason: expect.stringContaining('the laptop was stolen') },
    });
    const { body } = await publish('1.1.0', [await signedBy(key, createStatement(named('1.1.0')))]);
    expect(body.detail).toContain('the laptop was stolen');
  });

  it('accepts another signer when the policy names it, and records that in the events', async () => {
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    const second = newKey();
    const bundle = await signedBy(second, createStatement(named('1.1.0')));
    expect((await publish('1.1.0', [bundle])).status).toBe(422);
    await applyPolicies(policy([key, second]));
    expect((await publish('1.1.0', [bundle])).status).toBe(201);
    const { events } = (await read('/api/v1/events?limit=100')) as { events: { type: string; by: string }[] };
    expect(events.filter(({ type }) => type === 'policy.applied')).toHaveLength(2);
  });

  it('does not affect releases outside of its range', async () => {
    await applyPolicies(policy([key], { releases: '>=2.0.0' }));
    expect((await publish('1.0.0')).status).toBe(201);
    expect((await publish('2.0.0')).status).toBe(422);
  });

  it('adds a later attestation once, and refuses a signature by an unknown signer', async () => {
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    const provenance = await signedBy(key, {
      ...createStatement(named('1.0.0')),
      predicateType: 'https://slsa.dev/provenance/v1',
    });
    expect((await attach('1.0.0', provenance)).body).toMatchObject({
      bundles: [
        { claim: 'signature' },
        {
          claim: 'attestation',
          predicateType: 'https://slsa.dev/provenance/v1',
          signer: `the key ${key.fingerprint}`,
        },
      ],
    });
    const again = await attach('1.0.0', provenance);
    expect(again.body.bundles).toHaveLength(2);
    const unknown = { ...createStatement(named('1.0.0')), predicateType: 'https://example.com/parts/v1' };
    const other = newKey();
    const { bundles } = (await attach('1.0.0', await signedBy(other, unknown))).body as {
      bundles: { signer?: string }[];
    };
    expect(bundles.at(-1)?.signer).toBe(`the key ${other.fingerprint}`);
    const unknownSigner = await attach('1.0.0', await signedBy(newKey(), createStatement(named('1.0.0'))));
    expect(unknownSigner).toMatchObject({ status: 422, body: { code: 'untrusted' } });
  });

  it('reports the changes of a dry run, and changes nothing', async () => {
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    const { body } = await applyPolicies(policy([newKey()]), '?dryRun=true');
    expect(body).toMatchObject({ outcome: 'changed', dryRun: true, changed: 1 });
    expect(await read(releasePath(named('1.0.0')))).toMatchObject({
      signature: { trusted: true },
    });
  });

  it('computes the same verdicts after a restart', async () => {
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    registry = await registry.reopen();
    expect(await read(releasePath(named('1.0.0')))).toMatchObject({
      signature: { trusted: true },
    });
  });
});

describe('applied policies', () => {
  it('report which releases they cover and which groups are new', async () => {
    await publish('1.0.0');
    const text = `${policy([newKey()])}---\n${policy([newKey()], { name: 'typo', groups: ['exmaple.com'] })}`;
    expect((await applyPolicies(text, '?dryRun=true')).body).toMatchObject({
      changed: 1,
      changes: [{ release: '1.0.0', after: { trusted: false, policy: 'team' } }],
      coverage: [
        { name: 'team', functions: 1 },
        { name: 'typo', functions: 0 },
      ],
    });
  });

  it('do not remove a policy unless the request allows it', async () => {
    const key = newKey();
    await applyPolicies(`${policy([key])}---\n${policy([key], { name: 'other', groups: ['other.com'] })}`);
    for (const query of ['', '?dryRun=true']) {
      const { status, body } = await applyPolicies(policy([key]), query);
      expect({ status, code: body.code, detail: body.detail }).toEqual({
        status: 409,
        code: 'conflict',
        detail: 'this would remove policies: other',
      });
    }
    expect((await applyPolicies(policy([key]), '?remove=true')).status).toBe(200);
  });
});

describe('a group without a signing policy', () => {
  it('identifies the key of a signature, and trusts it once a policy names the key', async () => {
    const key = newKey();
    expect((await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))])).status).toBe(201);
    const path = releasePath(named('1.0.0'));
    const signer = `the key ${key.fingerprint}`;
    expect(await read(path)).toMatchObject({
      signature: {
        trusted: false,
        state: 'signed',
        signer,
        text: expect.stringMatching(`^signed by ${signer}`),
      },
      bundles: [{ claim: 'signature', signer }],
    });
    await applyPolicies(policy([key]));
    expect(await read(path)).toMatchObject({ signature: { trusted: true, policy: 'team' } });
  });

  it('trusts that key also if other policies named it before one covers the group', async () => {
    const key = newKey();
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    await applyPolicies(policy([key], { groups: ['other.example.com'] }));
    await applyPolicies(policy([key], { groups: ['other.example.com', 'example.com'] }));
    expect(await read(releasePath(named('1.0.0')))).toMatchObject({
      signature: { trusted: true, policy: 'team' },
    });
  });

  it('accepts nothing more from a revoked key, though it signed the function before', async () => {
    const key = newKey();
    await applyPolicies(policy([key], { releases: '>=1.0.0' }));
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    await applyPolicies(policy([key], { releases: '>=1.0.0', signer: 'revoked: it was stolen' }));
    const refused = await publish('0.9.0', [await signedBy(key, createStatement(named('0.9.0')))]);
    expect(refused).toMatchObject({ status: 422, body: { code: 'untrusted' } });
    expect(refused.body.detail).toContain('revokes this signer: it was stolen');
  });

  it('keeps a function signed by its first signer, whose key no policy names', async () => {
    const [owner, stranger, known] = [newKey(), newKey(), newKey()];
    await applyPolicies(policy([known], { groups: ['other.example.com'] }));
    await publish('1.0.0', [await signedBy(owner, createStatement(named('1.0.0')))]);
    const attempts: (readonly Uint8Array[])[] = [
      [],
      [await signedBy(stranger, createStatement(named('1.1.0')))],
      [await signedBy(known, createStatement(named('1.1.0')))],
      [
        await signedBy(owner, createStatement(named('1.1.0'))),
        await signedBy(stranger, createStatement(named('1.1.0'))),
      ],
    ];
    for (const bundles of attempts) {
      const { status, body } = await publish('1.1.0', bundles);
      expect({ status, code: body.code }).toEqual({ status: 422, code: 'untrusted' });
      expect(body.detail).toContain(`previous releases are signed by the key ${owner.fingerprint}`);
    }
    expect((await attach('1.0.0', await signedBy(known, createStatement(named('1.0.0'))))).status).toBe(422);
    expect((await publish('1.1.0', [await signedBy(owner, createStatement(named('1.1.0')))])).status).toBe(
      201,
    );
    expect((await publish('0.9.0')).status).toBe(422);
  });

  it('pins no signer by a signature that only names the key of someone else', async () => {
    const [owner, thief] = [newKey(), newKey()];
    const own = JSON.parse(
      Buffer.from(await signedBy(owner, createStatement(named('1.0.0')))).toString('utf8'),
    );
    const forged = JSON.parse(
      Buffer.from(await signedBy(thief, createStatement(named('1.0.0')))).toString('utf8'),
    );
    forged.verificationMaterial = own.verificationMaterial;
    const { status, body } = await publish('1.0.0', [JSON.stringify(forged)]);
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'untrusted' });
    expect(body.detail).toContain('no signing policy contains the key');
  });

  it('says in the same words everywhere that a release is signed', async () => {
    const key = newKey();
    await publish('1.0.0', [await signedBy(key, createStatement(named('1.0.0')))]);
    const { signature } = (await read(releasePath(named('1.0.0')))) as {
      signature: { text: string };
    };
    const { items } = (await read('/api/v1/functions')) as { items: { signature: object }[] };
    expect(items[0]?.signature).toEqual(signature);
    const fn = await read(`/api/v1/functions/example.com/${KIND}`);
    expect(fn).toMatchObject({ newest: { signature }, releases: [{ signature }] });
    const page = await registry.request(`/functions/example.com/${KIND}`, {
      headers: { Accept: 'text/html' },
    });
    expect((await page.text()).toLowerCase()).toContain(signature.text);
  });

  it('adds the signature of a release that exists without one, or refuses it', async () => {
    const [owner, stranger] = [newKey(), newKey()];
    await publish('1.0.0');
    const signature = await signedBy(owner, createStatement(named('1.0.0')));
    const rehearsed = await publish('1.0.0', [signature], '?dryRun=true');
    expect(rehearsed).toMatchObject({
      status: 200,
      body: { outcome: 'attached', dryRun: true, release: { signature: { state: 'signed' } } },
    });
    const path = releasePath(named('1.0.0'));
    expect(await read(path)).toMatchObject({ bundles: [] });
    const other = await signedBy(owner, createStatement(named('2.0.0')));
    for (const query of ['', '?dryRun=true']) {
      const refused = await publish('1.0.0', [other], query);
      expect(refused).toMatchObject({ status: 422, body: { code: 'untrusted' } });
    }
    const signed = await publish('1.0.0', [signature]);
    expect(signed).toMatchObject({
      status: 200,
      body: { outcome: 'attached', release: { signature: { state: 'signed' } } },
    });
    expect((await publish('1.0.0', [signature])).body.outcome).toBe('unchanged');
    const second = await publish(
      '1.0.0',
      [await signedBy(stranger, createStatement(named('1.0.0')))],
      '?dryRun=true',
    );
    expect(second).toMatchObject({ status: 422, body: { code: 'untrusted' } });
  });

  it('refuses a bundle of something else', async () => {
    const { status, body } = await publish('1.0.0', [
      await signedBy(newKey(), createStatement(named('2.0.0'))),
    ]);
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'untrusted' });
  });

  it('reports that an unsigned release is not signed', async () => {
    await publish('1.0.0');
    expect(await read(releasePath(named('1.0.0')))).toMatchObject({
      signature: { state: 'unsigned', text: 'not signed; no registry policy requires a signature' },
    });
  });
});

async function twice(key: TestKey): Promise<string> {
  const bundle = JSON.parse(
    Buffer.from(await signedBy(key, createStatement(named('1.0.0')))).toString('utf8'),
  );
  bundle.dsseEnvelope.signatures.push(bundle.dsseEnvelope.signatures[0]);
  return JSON.stringify(bundle);
}

async function retyped(key: TestKey): Promise<string> {
  const bundle = JSON.parse(
    Buffer.from(await signedBy(key, createStatement(named('1.0.0')))).toString('utf8'),
  );
  bundle.dsseEnvelope.payloadType = 'application/json';
  return JSON.stringify(bundle);
}

describe('policies that are applied while a release is published', () => {
  it('apply to it, whichever commits first', async () => {
    const { store } = registry.parts;
    const commit = store.commitFunction;
    let applied: Promise<unknown> | undefined;
    store.commitFunction = async (...change) => {
      // After the verdict on the release, and before it is stored.
      applied ??= applyPolicies(policy([newKey()]));
      await applied;
      return commit(...change);
    };
    const { status, body } = await publish('1.0.0');
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'untrusted' });
  });
});
