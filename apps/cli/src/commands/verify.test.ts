import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundleBytes, testBundle, testKey, testStatement } from '@krmhub/signing/testing/bundles';
import { expect, it } from 'vitest';
import { runTest, temporaryFolder } from '../testing/command-line.js';

const folder = temporaryFolder();
const write = (name: string, content: string | Uint8Array) => writeFileSync(path.join(folder, name), content);
const verify = (...args: string[]) => runTest(['verify', ...args], { cwd: folder });

const key = testKey();
write('krmhub.pub', key.publicKey.pem);
write('a.txt', 'hello\n');
write('unsigned.txt', 'hello\n');
write('a.txt.sigstore.json', bundleBytes(testBundle(key, testStatement('hello\n'))));
write('root.json', '{}');

it('shows each check, and the same as JSON', async () => {
  const table = await verify('a.txt', '--key', 'krmhub.pub');
  expect([table.exitCode, table.out()]).toEqual([
    0,
    expect.stringMatching(/^a\.txt\.sigstore\.json \(signature\)\nok {6}bundle {6}application\//),
  ]);
  const json = await verify('a.txt', '--key', 'krmhub.pub', '-o', 'json');
  const { artifact, verified, bundles } = JSON.parse(json.out());
  expect([json.exitCode, artifact, verified]).toEqual([0, 'a.txt', true]);
  expect(bundles).toEqual([
    {
      source: 'a.txt.sigstore.json',
      kind: 'signature',
      verified: true,
      predicateType: 'https://sigstore.dev/cosign/sign/v1',
      signer: { type: 'key', fingerprint: key.publicKey.fingerprint },
      checks: ['bundle', 'statement', 'subject', 'signature', 'identity'].map((check) => ({
        check,
        passed: true,
        message: expect.any(String),
      })),
    },
  ]);
});

it.for([
  ['missing', undefined],
  ['empty', ''],
  ['{}', '{}'],
  ['null', 'null'],
  ['cut off', '{"mediaType":"application/vnd.dev.'],
  ['of something else', bundleBytes(testBundle(key, testStatement('other')))],
  ['of another signer', bundleBytes(testBundle(testKey(), testStatement('hello\n')))],
] as const)('refuses a bundle that is %s', async ([, content]) => {
  if (content !== undefined) write('unsigned.txt.sigstore.json', content);
  const { exitCode, out, err } = await verify('unsigned.txt', '--key', 'krmhub.pub');
  expect(exitCode).toBe(4);
  expect(out()).toContain('FAILED  ');
  expect(err()).toContain('error: cannot verify unsigned.txt: ');
});

const somebody = ['--identity', 'a@example.com', '--issuer', 'https://accounts.example.com'];
it.for([
  ['no signer is given', 2, ['a.txt']],
  ['a key and an identity are named', 2, ['a.txt', '--key', 'krmhub.pub', ...somebody]],
  ['a key and an issuer are named', 2, ['a.txt', '--key', 'krmhub.pub', '--issuer', 'x']],
  ['there is no issuer', 2, ['a.txt', '--identity', 'a@example.com']],
  ['the issuer is empty', 2, ['a.txt', '--identity', 'a@example.com', '--issuer', '']],
  ['the identity is empty', 2, ['a.txt', '--identity', '', '--issuer', 'x']],
  ['an identity and a pattern are named', 2, ['a.txt', ...somebody, '--identity-pattern', '^a$']],
  ['the pattern has no end', 2, ['a.txt', '--issuer', 'x', '--identity-pattern', '^a']],
  ['the pattern has no start', 2, ['a.txt', '--issuer', 'x', '--identity-pattern', 'a$']],
  ['the pattern is none', 2, ['a.txt', '--issuer', 'x', '--identity-pattern', '^($']],
  ['a key signed, and an identity should have', 4, ['a.txt', ...somebody]],
  ['the file is not there', 3, ['none.txt', '--key', 'krmhub.pub']],
  ['the key is not there', 3, ['a.txt', '--key', 'none.pub']],
  ['the key is none', 1, ['a.txt', '--key', 'a.txt']],
  ['the root is none', 1, ['a.txt', ...somebody, '--trusted-root', 'root.json']],
  ['a digest has no bundle', 2, [`sha256:${'a'.repeat(64)}`, '--key', 'krmhub.pub']],
  ['an artifact is given a bundle', 2, ['localhost:1/a:v1', '--key', 'krmhub.pub', '--bundle', 'x']],
] as const)('ends as it should where %s', async ([, code, args]) => {
  const { exitCode, err } = await verify(...args);
  expect([exitCode, err()]).toEqual([code, expect.stringContaining('error: ')]);
});

it('reports the expected file if it does not exist', async () => {
  const { err } = await verify('none.txt', '--key', 'krmhub.pub');
  expect(err()).toContain(
    'none.txt is neither a file nor an OCI reference: "none.txt" is not a valid OCI reference',
  );
});

it('names the digest of an artifact in the hint for a bundle', async () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const { err } = await verify(`localhost:1/a@${digest}`, '--key', 'krmhub.pub', '--bundle', 'x.json');
  expect(err()).toContain(`krmhub verify ${digest} --bundle x.json\n`);
});
