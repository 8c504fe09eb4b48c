import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { SIGNING_LIMITS } from './limits.js';
import { type CertificateExtension, readCertificateClaims } from './source-identity.js';
import { signatureStatement } from './statement.js';
import { type TestExtension, TestFulcio } from './testing/fulcio.js';
import { publicGoodRoot } from './trusted-root.js';
import { verifyBundle } from './verify.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const ISSUER = 'https://token.actions.githubusercontent.com';
const SUBJECT = 'https://github.com/example/functions/.github/workflows/release.yml@refs/tags/v1.0.0';
const SOURCE = {
  sourceRepositoryURI: 'https://github.com/example/functions',
  sourceRepositoryIdentifier: '123',
  sourceRepositoryRef: 'refs/tags/v1.0.0',
  deploymentEnvironment: 'release',
  tokenSubject: 'repo:example@1/functions@123:ref:refs/tags/v1.0.0',
};

let fulcio: TestFulcio;
beforeAll(async () => {
  fulcio = await TestFulcio.start();
});

async function verified(extensions: readonly TestExtension[] = [], source: object = SOURCE) {
  const identity = { subject: SUBJECT, issuer: ISSUER, source, extensions };
  const bundle = await fulcio.sign(signatureStatement({ a: DIGEST }), identity);
  return verifyBundle(bundle, { digests: [DIGEST] }, { keys: [], root: fulcio.root });
}

describe('the source of a signature', () => {
  it('is what the certificate states', async () => {
    const { signer, checks } = await verified();
    expect(checks.filter(({ passed }) => !passed)).toEqual([]);
    expect(signer).toEqual({ type: 'identity', issuer: ISSUER, subject: SUBJECT, source: SOURCE });
  });

  it('is absent if the certificate states none', async () => {
    const { signer } = await verified([], {});
    expect(signer).toEqual({ type: 'identity', issuer: ISSUER, subject: SUBJECT });
  });

  it('is read from a bundle of the public instance', () => {
    const file = path.join(
      import.meta.dirname,
      '../../../test/fixtures/signatures/sigstore-2.0.0-provenance.json',
    );
    const digest =
      'sha512:46d4e2f74c4877316640000a6fdf8a8b59f1e0847667973e9859f774dd31b8f1e0937813b777fb66a2ac67d50540fe34640966eee9fc2ccca387082b4c85cd3c';
    const trust = { keys: [], root: publicGoodRoot() };
    const { signer } = verifyBundle(readFileSync(file), { digests: [digest] }, trust);
    const workflow = 'https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main';
    const commit = 'f0b49a04e5a62250e0f60fb128004a73110fe311';
    expect(signer).toEqual({
      type: 'identity',
      issuer: ISSUER,
      subject: workflow,
      source: {
        buildSignerURI: workflow,
        buildSignerDigest: commit,
        runnerEnvironment: 'github-hosted',
        sourceRepositoryURI: 'https://github.com/sigstore/sigstore-js',
        sourceRepositoryDigest: commit,
        sourceRepositoryRef: 'refs/heads/main',
        sourceRepositoryIdentifier: '495574555',
        sourceRepositoryOwnerURI: 'https://github.com/sigstore',
        sourceRepositoryOwnerIdentifier: '71096353',
        buildConfigURI: workflow,
        buildConfigDigest: commit,
        buildTrigger: 'push',
        runInvocationURI: 'https://github.com/sigstore/sigstore-js/actions/runs/5904696764/attempts/1',
        sourceRepositoryVisibilityAtSigning: 'public',
      },
    });
  });

  it.for<[string, TestExtension, string]>([
    ['a second value of one name', [15, '456'], 'has the extension 1.3.6.1.4.1.57264.1.15 twice'],
    ['a second issuer', [8, 'https://other.example.com'], 'has the extension 1.3.6.1.4.1.57264.1.8 twice'],
    [
      'another type',
      [11, der(0x16, 'github-hosted')],
      'extension 1.3.6.1.4.1.57264.1.11 of the certificate is not a UTF8String',
    ],
    ['plain bytes', [17, Buffer.from('1')], 'is not a UTF8String'],
    ['nothing', [17, Buffer.alloc(0)], 'is not a UTF8String'],
    ['bytes after the text', [17, Buffer.concat([der(0x0c, '1'), der(0x0c, '2')])], 'is not valid DER'],
    ['a length that is too long', [17, Buffer.from([0x0c, 9, 0x31])], 'is not valid DER'],
    ['a length of many bytes', [17, Buffer.from([0x0c, 0xff, 1, 1])], 'is not valid DER'],
    ['invalid UTF-8', [17, Buffer.from([0x0c, 1, 0xff])], 'is not UTF-8'],
    ['a line break', [23, 'a\nb'], 'contains control characters'],
    ['an escape sequence', [23, '\u001b[31m'], 'contains control characters'],
    ['a NUL', [20, 'push\u0000'], 'contains control characters'],
    [
      'a control character in an old extension',
      [6, Buffer.from('refs/\u0007')],
      'contains control characters',
    ],
    ['a huge value', [20, 'x'.repeat(SIGNING_LIMITS.maxExtensionBytes + 1)], 'the limit is 2048'],
  ])('cannot be %s', async ([, extension, reason]) => {
    const without = { ...SOURCE, deploymentEnvironment: undefined };
    const { verified: isVerified, checks, signer } = await verified([extension], defined(without));
    expect([isVerified, signer]).toEqual([false, undefined]);
    expect(checks.at(-1)).toMatchObject({ check: 'identity', passed: false });
    expect(checks.at(-1)!.message).toContain(reason);
  });
});

/** Builds an extension as the sigstore library returns it. */
const extension = (number: number, value: Uint8Array): CertificateExtension => ({
  oid: { id: `1.3.6.1.4.1.57264.1.${number}`.split('.').map(Number) },
  value,
});

it.each([
  ['0c810131', 'a long form of a short length'],
  ['0c82000131', 'a length with a leading zero'],
  ['0c8031', 'an indefinite length'],
  ['0c', 'no length'],
])('%s is refused: %s', (hex) => {
  const claims = readCertificateClaims([extension(17, Buffer.from(hex, 'hex'))]);
  expect(claims).toBe('the extension 1.3.6.1.4.1.57264.1.17 of the certificate is not valid DER');
});

it('a long value has a long form of its length', () => {
  const text = 'x'.repeat(300);
  const value = Buffer.concat([Buffer.from([0x0c, 0x82, 1, 44]), Buffer.from(text)]);
  expect(readCertificateClaims([extension(17, value)])).toEqual({
    source: { sourceRepositoryOwnerIdentifier: text },
  });
});

describe('old extensions', () => {
  const old = [
    extension(1, Buffer.from(ISSUER)),
    extension(2, Buffer.from('push')),
    extension(3, Buffer.from('abc')),
    extension(5, Buffer.from('example/functions')),
    extension(6, Buffer.from('refs/heads/main')),
  ];

  it('are read if there are no new ones', () => {
    expect(readCertificateClaims(old)).toEqual({
      issuer: ISSUER,
      source: {
        buildTrigger: 'push',
        sourceRepositoryDigest: 'abc',
        sourceRepositoryURI: 'https://github.com/example/functions',
        sourceRepositoryRef: 'refs/heads/main',
      },
    });
  });

  it('do not replace new ones', () => {
    const text = (number: number, value: string) => extension(number, der(0x0c, value));
    const both = [text(8, 'https://i.example.com'), text(14, 'refs/tags/v1'), ...old];
    expect(readCertificateClaims(both)).toMatchObject({
      issuer: 'https://i.example.com',
      source: { sourceRepositoryRef: 'refs/tags/v1', buildTrigger: 'push' },
    });
  });

  it('name no host, so a repository of another issuer is unknown', () => {
    const other = [extension(1, Buffer.from('https://ghes.example.com/_services/token')), ...old.slice(1)];
    const claims = readCertificateClaims(other);
    expect(claims).not.toHaveProperty('source.sourceRepositoryURI');
  });
});

it('never throws for random extensions, and never returns a control character', () => {
  let found = 0;
  for (let run = 0; run < 5_000; run++) {
    const list = [0, 1, 2].map((item) => {
      // Random, and the same in each run of the test.
      const [number = 0, form = 0, ...bytes] = createHash('sha512').update(`${run} ${item}`).digest();
      const text = Buffer.from(bytes.slice(0, form % 5));
      const value = form < 128 ? Buffer.concat([Buffer.from([0x0c, text.length]), text]) : text;
      return extension(number % 30, value);
    });
    const claims = readCertificateClaims(list);
    if (typeof claims === 'string') continue;
    found += Object.keys(claims.source).length;
    for (const text of [claims.issuer ?? 'x', ...Object.values(claims.source)]) {
      expect(text).toMatch(/^\P{Cc}+$/u);
    }
  }
  expect(found).toBeGreaterThan(10);
});

function der(tag: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([tag, text.length]), Buffer.from(text)]);
}

function defined<Value extends object>(value: Value): Value {
  return JSON.parse(JSON.stringify(value));
}
