import { createHash, generateKeyPairSync, verify } from 'node:crypto';
import { evaluateSignatures, type SigningPolicy } from '@krmhub/catalog';
import { type Digest, publicKey, SNAPSHOT_RENDITIONS, sha256 } from '@krmhub/schema';
import {
  emptyRoot,
  IN_TOTO_MEDIA_TYPE,
  keySigner,
  readReleaseClaim,
  releaseStatement,
  signStatement,
  snapshotStatement,
  verifyBundle,
} from '@krmhub/signing';
import { verifySnapshot } from '@krmhub/signing/verify-snapshot';
import { perSecond } from '../figures.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import type { Line, Row } from '../row.js';
import { SyntheticFunctions, type SyntheticRelease } from '../synthetic/definitions.js';

/** More definitions add no information. */
const MAX_DEFINITIONS = 1_000;
/** Snapshots verified in one round: one alone is too fast to measure. */
const SNAPSHOTS = 200;

const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const key = publicKey(pair.publicKey, 'the key of the bench');
const sign = keySigner(pair.privateKey);
const policy: SigningPolicy = {
  name: 'bench',
  groups: ['*'],
  signers: [{ key: key.pem, fingerprint: key.fingerprint }],
};

export const signing: Row = {
  name: 'signing',
  title: 'signatures verified',
  async run({ effort, report }, functions) {
    const releases = syntheticReleases(Math.min(functions, MAX_DEFINITIONS));
    report(`signing: ${releases.length} definitions`);
    return [await definitions(releases, effort.rounds), await snapshots(releases, effort.rounds)];
  },
};

function syntheticReleases(count: number): SyntheticRelease[] {
  const source = new SyntheticFunctions(5);
  const releases: SyntheticRelease[] = [];
  while (releases.length < count) releases.push(...source.next());
  return releases.slice(0, count);
}

/** From the bytes of a definition and its bundle to a verdict; the peer checks only the signature. */
async function definitions(releases: readonly SyntheticRelease[], rounds: number): Promise<Line> {
  const signed = await Promise.all(
    releases.map(async ({ text, group, kind, release }) => {
      const bytes = Buffer.from(text);
      const name = { group, kind, release };
      const bundle = await signStatement(releaseStatement(name, { definition: sha256(bytes) }), sign);
      return { name, bytes, bundle, ...signatureIn(bundle) };
    }),
  );
  const sides = {
    krmhub: () =>
      timed(() => {
        for (const { name, bytes, bundle } of signed) {
          const definition = sha256(bytes);
          const found = verifyBundle(bundle, { digests: [definition] }, { keys: [key], root: emptyRoot() });
          const { claim } = readReleaseClaim(found, { ...name, definition, manifests: [] });
          const signature = {
            bundle: sha256(bundle),
            signer: found.signer!,
            receivedAt: '2030-01-02T03:04:05.678Z',
          };
          const verdict = evaluateSignatures([policy], name, [signature]);
          if (claim !== 'signature' || verdict?.trusted !== true)
            throw new Error('a valid signature was rejected');
        }
      }),
    crypto: () => timed(() => bare(signed)),
  };
  return compared(`${signed.length} definitions`, signed.length, await measured(rounds, sides));
}

/**
 * From the bytes of a snapshot's files to a verdict; the peer hashes the same bytes and checks the
 * signature.
 */
async function snapshots(releases: readonly SyntheticRelease[], rounds: number): Promise<Line> {
  const catalog = Buffer.from(releases.map(({ text }) => text).join('---\n'));
  const listing = Buffer.from(
    JSON.stringify(releases.map(({ group, kind, release }) => ({ group, kind, release }))),
  );
  const digests: Record<string, Digest> = { 'snapshot.json': sha256(listing) };
  for (const form of SNAPSHOT_RENDITIONS) digests[form] = sha256(catalog);
  const claim = { catalog: 'bench', serial: 1, previous: null, expires: '2030-01-02T03:04:05.678Z' };
  const bundle = await signStatement(snapshotStatement(claim, digests), sign);
  const { encoded, signature } = signatureIn(bundle);
  const times = Array.from({ length: SNAPSHOTS });
  const sides = {
    krmhub: () =>
      timed(() => {
        for (const _ of times) {
          const { signed } = verifySnapshot(bundle, [key]);
          const same = signed?.digests.get('catalog.yaml') === sha256(catalog);
          if (!same || signed.digests.get('snapshot.json') !== sha256(listing)) {
            throw new Error('a valid snapshot was rejected');
          }
        }
      }),
    crypto: () =>
      timed(() => {
        for (const _ of times) {
          bare([{ encoded, signature }]);
          for (const bytes of [catalog, listing]) createHash('sha256').update(bytes).digest();
        }
      }),
  };
  const megabytes = (catalog.byteLength / 1e6).toFixed(1);
  return compared(
    `a snapshot of ${releases.length} functions, ${megabytes} MB`,
    SNAPSHOTS,
    await measured(rounds, sides),
  );
}

function bare(signed: readonly { encoded: Buffer; signature: Buffer }[]): void {
  for (const { encoded, signature } of signed) {
    if (!verify('sha256', encoded, key.key, signature)) throw new Error('a valid signature was rejected');
  }
}

/** The signed bytes (DSSE, "Protocol"), and the signature. */
function signatureIn(bundle: Uint8Array): { encoded: Buffer; signature: Buffer } {
  const { dsseEnvelope } = JSON.parse(Buffer.from(bundle).toString('utf8')) as {
    dsseEnvelope: { payload: string; signatures: { sig: string }[] };
  };
  const payload = Buffer.from(dsseEnvelope.payload, 'base64');
  const head = `DSSEv1 ${IN_TOTO_MEDIA_TYPE.length} ${IN_TOTO_MEDIA_TYPE} ${payload.length} `;
  return {
    encoded: Buffer.concat([Buffer.from(head), payload]),
    signature: Buffer.from(dsseEnvelope.signatures[0]!.sig, 'base64'),
  };
}

type Sides = { krmhub: () => Promise<number>; crypto: () => Promise<number> };

async function measured(rounds: number, sides: Sides): Promise<Record<keyof Sides, number[]>> {
  // Warm-up, so that compilation counts on neither side.
  await alternate(1, sides);
  return alternate(rounds, sides);
}

function compared(what: string, count: number, { krmhub, crypto }: Record<keyof Sides, number[]>): Line {
  const rates = (times: readonly number[]) => times.map((milliseconds) => (count / milliseconds) * 1_000);
  const [ours, theirs] = [rates(krmhub), rates(crypto)];
  const [oursPerSecond, cryptoPerSecond] = [spread(ours).median, spread(theirs).median];
  return {
    row: 'signing',
    what,
    ours: perSecond(oursPerSecond),
    against: `crypto.verify ${perSecond(cryptoPerSecond)}`,
    ratio: ratio(ours, theirs),
    figures: { oursPerSecond, cryptoPerSecond },
  };
}
