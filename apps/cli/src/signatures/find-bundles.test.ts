import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { computeDigest, EMPTY_CONFIG, MEDIA_TYPES } from '@krmhub/oci';
import { type ScriptedServer, scriptedServer } from '@krmhub/oci/testing/scripted-server';
import { BUNDLE_MEDIA_TYPE } from '@krmhub/schema';
import { SIGNING_LIMITS } from '@krmhub/signing';
import { bundleBytes, testBundle, testKey, testStatement } from '@krmhub/signing/testing/bundles';
import { afterEach, expect, it } from 'vitest';
import { runTest, temporaryFolder } from '../testing/command-line.js';

/** What registries, and those who may push to them, can put beside an artifact. */

const folder = temporaryFolder();
const servers: ScriptedServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const key = testKey();
writeFileSync(path.join(folder, 'krmhub.pub'), key.publicKey.pem);
const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const described = (bytes: Uint8Array, mediaType: string) => ({
  mediaType,
  digest: computeDigest(bytes),
  size: bytes.byteLength,
});
const config = described(EMPTY_CONFIG, MEDIA_TYPES.empty);
const artifact = json({ schemaVersion: 2, mediaType: MEDIA_TYPES.image, config, layers: [] });
const subject = described(artifact, MEDIA_TYPES.image);
const signed = (by = key, of: Uint8Array = artifact) =>
  Buffer.from(bundleBytes(testBundle(by, testStatement(of))));
const sound = signed();

interface Referrer {
  bundle?: Buffer;
  /** Fields of the manifest in place of those that it should have. */
  other?: object;
  layer?: object;
}

function writeManifest({ bundle = sound, other = {}, layer = {} }: Referrer): Buffer {
  return json({
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.image,
    artifactType: BUNDLE_MEDIA_TYPE,
    config,
    layers: [{ ...described(bundle, BUNDLE_MEDIA_TYPE), ...layer }],
    subject,
    ...other,
  });
}

interface Registry {
  referrers: Referrer[];
  /** Of descriptors in the list. */
  listed?: object;
  /** Bundles under a tag, for a registry without the referrers API. */
  byTag?: boolean;
  /** List under the fallback tag, beside that of the referrers API. */
  tagged?: object[];
  /** Manifests under other tags. */
  tags?: Record<string, Buffer>;
  blobs?: Buffer[];
  status?: number;
}

/** Verifies the artifact in a registry that has all this. */
async function verified({ referrers, listed = {}, byTag, tagged, tags = {}, blobs = [], status }: Registry) {
  const manifests = referrers.map(writeManifest);
  const list = json({
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.index,
    manifests: manifests.map((bytes) => ({
      ...described(bytes, MEDIA_TYPES.image),
      artifactType: JSON.parse(bytes.toString('utf8')).artifactType,
      ...listed,
    })),
  });
  const found = new Map<string, Buffer>([['v1', artifact], ...Object.entries(tags)]);
  for (const bytes of [artifact, ...manifests]) found.set(computeDigest(bytes), bytes);
  const stored = new Map<string, Buffer>(
    [...referrers.map(({ bundle = sound }) => bundle), ...blobs].map((b) => [computeDigest(b), b]),
  );
  const tag = subject.digest.replace(':', '-');
  const server = await scriptedServer(({ url = '' }, response) => {
    const name = url.split('/').at(-1)!;
    const send = (bytes: Buffer | undefined, type: string) =>
      bytes === undefined
        ? response.writeHead(404).end()
        : response.writeHead(200, { 'Content-Type': type }).end(bytes);
    if (url.includes('/referrers/')) {
      if (status !== undefined) return response.writeHead(status).end();
      return send(byTag === true ? undefined : list, MEDIA_TYPES.index);
    }
    if (url.includes('/blobs/')) return send(stored.get(name), 'application/octet-stream');
    if (name === tag && byTag === true) return send(list, MEDIA_TYPES.index);
    if (name === tag && tagged !== undefined) {
      const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: tagged };
      return send(json(index), MEDIA_TYPES.index);
    }
    return send(found.get(name), MEDIA_TYPES.image);
  });
  servers.push(server);
  const args = ['verify', `${server.host}/a:v1`, '--key', 'krmhub.pub', '-o', 'json'];
  const io = await runTest(args, { cwd: folder });
  const { bundles = [] } = io.out() === '' ? {} : JSON.parse(io.out());
  return { code: io.exitCode, bundles, err: io.err(), asked: server.requests };
}

it.for([
  ['as the list has it', { referrers: [{}] }],
  ['under the fallback tag', { referrers: [{}], byTag: true }],
  [
    'beside others that do not hold',
    { referrers: [{ bundle: signed(testKey()) }, {}, { bundle: json({}) }] },
  ],
  ['whatever the list says of its type', { referrers: [{}], listed: { artifactType: 'text/plain' } }],
  ['whatever the manifest says of its type', { referrers: [{ other: { artifactType: undefined } }] }],
  ['whatever the layer says of its type', { referrers: [{ layer: { mediaType: 'application/json' } }] }],
] as const)('finds a bundle: %s', async ([, registry]) => {
  const { code, err } = await verified(registry as unknown as Registry);
  expect([code, err]).toEqual([0, expect.stringContaining('verified ')]);
});

it('finds a bundle that a long list under the fallback tag would hide', async () => {
  const junk = (at: number) => ({
    ...described(json({ at }), MEDIA_TYPES.image),
    artifactType: BUNDLE_MEDIA_TYPE,
  });
  const again = { ...described(writeManifest({}), MEDIA_TYPES.image), artifactType: 'text/plain' };
  const tagged = [again, ...Array.from({ length: 100 }, (_, at) => junk(at))];
  const { code, err } = await verified({ referrers: [{}], tagged });
  expect([code, err]).toEqual([0, expect.stringContaining('verified ')]);
});

const other = described(json({}), MEDIA_TYPES.image);
it.for([
  ['no referrers', { referrers: [] }, 'has no signature'],
  [
    'it is of something else',
    { referrers: [{ bundle: signed(key, json({})) }] },
    'subject: the signature is for',
  ],
  [
    'its manifest refers to something else',
    { referrers: [{ other: { subject: other } }] },
    'its subject is another manifest',
  ],
  [
    'its manifest refers to nothing',
    { referrers: [{ other: { subject: undefined } }] },
    'its subject is another manifest',
  ],
  [
    'there are two layers',
    { referrers: [{ other: { layers: Array(2).fill(described(sound, BUNDLE_MEDIA_TYPE)) } }] },
    'contains 2 bundles, expected one',
  ],
  [
    'it says to be endless',
    { referrers: [{ layer: { size: SIGNING_LIMITS.maxBundleBytes + 1 } }] },
    'the limit is ',
  ],
  ['it has other bytes than it says', { referrers: [{ layer: { size: 7 } }] }, ': bundle: '],
  ['its bytes are gone', { referrers: [{ layer: { digest: other.digest } }] }, '404'],
  ['its manifest is damaged', { referrers: [{ other: { layers: 'none' } }] }, 'invalid manifest'],
] as const)('is refused where %s', async ([, registry, reason]) => {
  const { code, err } = await verified(registry as unknown as Registry);
  expect([code, err]).toEqual([4, expect.stringContaining(reason)]);
});

it('reads only the required manifests', async () => {
  const referrers = Array.from({ length: 200 }, (_, at) => ({ other: { annotations: { at: String(at) } } }));
  const { code, asked, bundles, err } = await verified({ referrers });
  expect([code, bundles.length]).toEqual([0, 64]);
  expect(err).toContain('skipped 136 referrers over the limit');
  expect(asked.length).toBeLessThan(150);
});

it('reads bundles before other referrers', async () => {
  const noise = { artifactType: 'text/plain', layers: [described(json(1), 'text/plain')] };
  const many = Array.from({ length: 100 }, (_, at) => ({
    other: { ...noise, annotations: { at: String(at) } },
  }));
  const { code } = await verified({ referrers: [...many, {}] });
  expect(code).toBe(0);
});

it('reports a failing registry, not a missing signature', async () => {
  const { code, bundles } = await verified({ referrers: [{}], status: 403 });
  expect([code, bundles]).toEqual([6, []]);
});

it('reads signatures of older cosign versions', async () => {
  const tag = `${subject.digest.replace(':', '-')}.sig`;
  const payload = json({ hello: 'world' });
  const layer = {
    ...described(payload, 'application/vnd.dev.cosign.simplesigning.v1+json'),
    annotations: {},
  };
  const image = json({ schemaVersion: 2, mediaType: MEDIA_TYPES.image, config, layers: [layer, layer] });
  const { code, bundles } = await verified({ referrers: [], tags: { [tag]: image }, blobs: [payload] });
  expect([code, bundles.map(({ source }: { source: string }) => source)]).toEqual([
    4,
    [`${tag}#1`, `${tag}#2`],
  ]);
});
