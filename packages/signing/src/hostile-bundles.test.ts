import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SIGNING_LIMITS } from './limits.js';
import { bundleBytes, sha256, testBundle, testKey, testStatement } from './testing/bundles.js';
import { publicGoodRoot } from './trusted-root.js';
import { verifyBundle } from './verify.js';

/** Invalid bundles of up to a megabyte must be rejected quickly. */

const MILLISECONDS = 1_000;
const ROOT = publicGoodRoot();
const KEY = testKey();

/** Returns the last check and its CPU time: elapsed time depends on the load of the machine. The fastest run counts. */
function verifyRefused(bundle: object, keys = [KEY.publicKey]): { message: string; milliseconds: number } {
  const bytes = bundleBytes(bundle);
  expect(bytes.byteLength).toBeLessThanOrEqual(1_048_576);
  const times = [];
  let message = '';
  for (let run = 0; run < 3; run++) {
    const start = process.cpuUsage();
    const { verified, checks } = verifyBundle(
      bytes,
      { digests: [`sha256:${sha256('x')}`] },
      { keys, root: ROOT },
    );
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / 1_000);
    expect(verified).toBe(false);
    message = checks.at(-1)!.message;
  }
  return { message, milliseconds: Math.min(...times) };
}

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(content.length);
  const length = content.length < 128 ? [content.length] : [0x84, ...size];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);

function nested(levels: number, innermost: Uint8Array): Uint8Array {
  let value = innermost;
  for (let level = 0; level < levels; level++) value = sequence(value);
  return value;
}

/** A self-issued certificate: the library encodes it again to verify that. */
function certificate(extra: Uint8Array): Buffer {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const integer = der(2, Buffer.from([1]));
  const algorithm = sequence(der(6, Buffer.from([0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2])));
  const validity = sequence(der(0x17, Buffer.from('250101000000Z')), der(0x17, Buffer.from('450101000000Z')));
  const key = publicKey.export({ type: 'spki', format: 'der' });
  const signed = sequence(
    der(0xa0, integer),
    integer,
    algorithm,
    sequence(),
    validity,
    sequence(),
    key,
    extra,
  );
  return sequence(signed, algorithm, der(3, Buffer.alloc(71)));
}

function certified(rawBytes: Uint8Array) {
  const entry = {
    logIndex: '1',
    logId: { keyId: sha256('a log', 'base64') },
    kindVersion: { kind: 'dsse', version: '0.0.1' },
    integratedTime: '1750000000',
    inclusionPromise: { signedEntryTimestamp: 'AAAA' },
    canonicalizedBody: Buffer.from('{}').toString('base64'),
  };
  return {
    ...testBundle(KEY, testStatement('x')),
    mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.1',
    verificationMaterial: {
      x509CertificateChain: { certificates: [{ rawBytes: Buffer.from(rawBytes).toString('base64') }] },
      tlogEntries: [entry],
    },
  };
}

function timestamped(signedTimestamp: Uint8Array) {
  const bundle = testBundle(KEY, testStatement('x'));
  bundle.verificationMaterial.timestampVerificationData = {
    rfc3161Timestamps: [{ signedTimestamp: Buffer.from(signedTimestamp).toString('base64') }],
  };
  return bundle;
}

function withSubjects(subject: object[]) {
  return testBundle(KEY, testStatement('x', { subject }));
}

const manyDigests = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [at.toString(36), value]));

function withMaterial(material: object) {
  const bundle = testBundle(KEY, testStatement('x'));
  return { ...bundle, verificationMaterial: { ...bundle.verificationMaterial, ...material } };
}

describe('a hostile bundle', () => {
  const hostile: [string, () => object, string][] = [
    // Without limits this takes nine seconds.
    [
      'a large and deep certificate',
      () => certified(certificate(nested(3_000, Buffer.alloc(700_000)))),
      'a certificate has',
    ],
    [
      'a deep certificate',
      () => certified(certificate(nested(1_000, Buffer.alloc(0)))),
      'more than 32 levels',
    ],
    [
      'a large timestamp',
      () => timestamped(sequence(Buffer.alloc(780_000, Buffer.from([5, 0])))),
      'a timestamp has 780006 bytes',
    ],
    ['a deep timestamp', () => timestamped(nested(2_000, Buffer.alloc(0))), 'more than 32 levels'],
    [
      'many digests of a subject',
      () => withSubjects([{ digest: manyDigests(60_000, '0') }]),
      'more than 16 digests',
    ],
    ['many wrong digests', () => withSubjects([{ digest: manyDigests(60_000, 0) }]), 'more than 16 digests'],
    [
      'many wrong digests of many subjects',
      () => withSubjects(Array.from({ length: 1_000 }, () => ({ digest: manyDigests(16, 'Z') }))),
      'must match pattern',
    ],
    [
      'many log entries',
      () => withMaterial({ tlogEntries: new Array(250_000).fill({}) }),
      '250000 log entries',
    ],
    [
      'many timestamps',
      () => withMaterial({ timestampVerificationData: { rfc3161Timestamps: new Array(250_000).fill({}) } }),
      '250000 timestamps',
    ],
    [
      'many certificates',
      () => withMaterial({ x509CertificateChain: { certificates: new Array(250_000).fill({}) } }),
      '250000 certificates',
    ],
    [
      'many signatures',
      () => {
        const bundle = testBundle(KEY, testStatement('x'));
        bundle.dsseEnvelope.signatures = new Array(250_000).fill({});
        return bundle;
      },
      'one signature',
    ],
  ];

  it.each(hostile)('with %s is rejected quickly', (_, bundle, reason) => {
    const { message, milliseconds } = verifyRefused(bundle());
    expect(message).toContain(reason);
    expect(milliseconds).toBeLessThan(MILLISECONDS);
  });

  it('without a key hint is verified with many keys, but the root is parsed once', () => {
    const keys = Array.from({ length: 500 }, () => testKey().publicKey);
    const bundle = testBundle(KEY, testStatement('x'));
    bundle.verificationMaterial.publicKey.hint = '';
    expect(verifyRefused(bundle, keys).milliseconds).toBeLessThan(MILLISECONDS);
  });
});

it('the limits accept the certificates of the public instance', () => {
  const { certificateAuthorities, timestampAuthorities } = ROOT.root;
  const all = [...certificateAuthorities, ...timestampAuthorities].flatMap(
    ({ certChain }) => certChain!.certificates,
  );
  for (const { rawBytes } of all) {
    const { message } = verifyRefused(certified(rawBytes));
    expect(message).not.toMatch(/levels|bytes/);
    expect(rawBytes.byteLength).toBeLessThan(SIGNING_LIMITS.maxCertificateBytes / 4);
  }
});
