import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { MEDIA_TYPES } from '@krmhub/oci';
import { readStatement, type Statement } from '@krmhub/signing';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, temporaryFolder } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';

const folder = temporaryFolder();
const at = (name: string) => path.join(folder, name);
const fixtures = fileURLToPath(new URL('../../../../test/fixtures/functions/set-labels', import.meta.url));
const password = { KRMHUB_KEY_PASSWORD: 'secret' };
const registry = fileRegistry();
let host: string;

const run = (args: string[], env: Record<string, string> = {}) =>
  runTest(args, { cwd: folder, env: { ...registry.env, ...password, ...env } });

/** What a command gives that has to end so. */
async function ends(code: number, ...args: string[]) {
  const io = await run(args);
  expect(io.exitCode, `krmhub ${args.join(' ')}\n${io.out()}${io.err()}`).toBe(code);
  return io;
}

function statementIn(name: string): Statement {
  const { dsseEnvelope } = JSON.parse(readFileSync(at(name), 'utf8'));
  return readStatement(Buffer.from(dsseEnvelope.payload, 'base64')) as Statement;
}

beforeAll(async () => {
  host = new URL(registry.url).host;
  await ends(0, 'keygen', '--out', 'sealed');
  await writeKeyFiles(folder, 'krmhub', 'other');
  cpSync(path.join(fixtures, '1.0.0.yaml'), at('definition.yaml'));
  cpSync(path.join(fixtures, 'README.md'), at('README.md'));
  writeFileSync(at('a.txt'), 'hello\n');
  writeFileSync(at('b.txt'), 'other\n');
  writeFileSync(at('predicate.json'), '{"passed":true}');
  writeFileSync(at('list.json'), '[]');
  writeFileSync(at('script.star'), '# a script\n');
});

describe('files', () => {
  it('says how to sign a release with a script in a file, which publish replaces', async () => {
    await ends(0, 'init', 'example.com/SetOwner', '--runtime', 'starlark', '--out', 'owner');
    const definition = at('owner/definition.yaml');
    writeFileSync(definition, readFileSync(definition, 'utf8').replaceAll('# CHANGE:', '#'));
    const io = await ends(1, 'sign', 'owner/definition.yaml', '--release', '1.0.0', '--key', 'krmhub.key');
    expect(io.err()).toBe(
      `error: cannot sign owner/definition.yaml as a release: the release gets the reference and the digest of its script
  hint: Sign the release when you publish it: krmhub publish owner/definition.yaml --release 1.0.0 --key FILE.key
`,
    );
  });

  it('get a bundle next to them, which is replaced only with --overwrite', async () => {
    await ends(0, 'sign', 'a.txt', '--key', 'krmhub.key');
    const bundle = readFileSync(at('a.txt.sigstore.json'), 'utf8');
    expect((await ends(1, 'sign', 'a.txt', '--key', 'krmhub.key')).err()).toContain('already exists');
    expect(readFileSync(at('a.txt.sigstore.json'), 'utf8')).toBe(bundle);
    await ends(0, 'sign', 'a.txt', '--key', 'sealed.key', '--overwrite');
    const { err } = await ends(0, 'verify', 'a.txt', '--key', 'sealed.pub');
    expect(err()).toContain('verified sha256:5891b5b5');
  });

  it('are signed as a release with --release, including the manifest of the registry', async () => {
    const release = ['--release', 'v1.0', '--readme', 'README.md'];
    await ends(0, 'sign', 'definition.yaml', '--key', 'krmhub.key', ...release);
    await ends(0, 'publish', 'definition.yaml', ...release);
    const statement = statementIn('definition.yaml.sigstore.json');
    expect(statement.predicate).toEqual({
      group: 'functions.example.com',
      kind: 'SetLabels',
      release: '1.0.0',
    });
    const manifest = `${registry.url}/v2/functions/functions.example.com/setlabels/manifests/1.0.0`;
    const answer = await fetch(manifest, { headers: { Accept: MEDIA_TYPES.image } });
    const sha256 = answer.headers.get('docker-content-digest')!.replace('sha256:', '');
    expect(statement.subject[0]).toEqual({ name: 'manifest', digest: { sha256 } });
    const { out } = await ends(0, 'verify', 'definition.yaml', '--key', 'krmhub.pub');
    expect(out()).toContain('(signature, functions.example.com/SetLabels@1.0.0)');
    const of = ['verify', `sha256:${sha256}`, '--bundle', 'definition.yaml.sigstore.json'];
    await ends(0, ...of, '--key', 'krmhub.pub');
  });

  it('are signed as bytes without --release, with a note', async () => {
    const signs = ['sign', 'definition.yaml', '--key', 'krmhub.key', '--bundle', 'bytes.json'];
    expect((await ends(0, ...signs)).err()).toContain('add --release');
    expect(statementIn('bytes.json').predicateType).toBe('https://sigstore.dev/cosign/sign/v1');
  });

  it('get attestations in the file of --output', async () => {
    const said = ['--predicate', 'predicate.json', '--type', 'https://example.com/tests/v1'];
    const signs = ['sign', 'a.txt', '--key', 'krmhub.key', ...said];
    expect((await ends(2, ...signs)).err()).toContain('--bundle');
    await ends(0, ...signs, '--bundle', 'tests.json');
    expect(statementIn('tests.json')).toMatchObject({
      subject: [{ name: 'a.txt' }],
      predicate: { passed: true },
    });
    const verify = ['verify', 'a.txt', '--key', 'krmhub.pub', '--bundle', 'tests.json'];
    expect((await ends(4, ...verify)).err()).toContain('--type https://example.com/tests/v1');
    await ends(0, ...verify, '--type', 'https://example.com/tests/v1');
    await ends(0, ...verify, '--type', 'any');
    await ends(4, ...verify, '--type', 'https://example.com/tests/v2');
  });

  it.for([
    ['there is no signer', 2, ['a.txt']],
    ['two sign', 2, ['a.txt', '--key', 'krmhub.key', '--keyless']],
    ['a key asks a service', 2, ['a.txt', '--key', 'krmhub.key', '--rekor-url', 'https://r.example.com']],
    ['there is no such file', 3, ['c.txt', '--key', 'krmhub.key']],
    ['it is a folder', 2, ['.', '--key', 'krmhub.key']],
    ['there is no such key', 3, ['a.txt', '--key', 'none.key']],
    ['the key is the public one', 1, ['a.txt', '--key', 'krmhub.pub']],
    ['a digest has no place', 2, [`sha256:${'a'.repeat(64)}`, '--key', 'krmhub.key']],
    ['a predicate has no type', 2, ['a.txt', '--key', 'krmhub.key', '--predicate', 'predicate.json']],
    [
      'a predicate is a list',
      1,
      ['a.txt', '--key', 'krmhub.key', '--predicate', 'list.json', '--type', 'x:y', '--bundle', 'x'],
    ],
    [
      'a predicate is not JSON',
      1,
      ['a.txt', '--key', 'krmhub.key', '--predicate', 'a.txt', '--type', 'x:y', '--bundle', 'x'],
    ],
    [
      'a type is not a URI',
      2,
      ['a.txt', '--key', 'krmhub.key', '--predicate', 'predicate.json', '--type', 'x'],
    ],
    ['a release is not a version', 2, ['definition.yaml', '--key', 'krmhub.key', '--release', 'new']],
    ['a release is not a definition', 1, ['predicate.json', '--key', 'krmhub.key', '--release', '1.0.0']],
    ['a README has no release', 2, ['definition.yaml', '--key', 'krmhub.key', '--readme', 'README.md']],
  ] as const)('are not signed where %s', async ([, code, args]) => {
    await ends(code, 'sign', ...args);
  });

  it('are not signed with a wrong password, which is not printed', async () => {
    const io = await run(['sign', 'b.txt', '--key', 'sealed.key'], { KRMHUB_KEY_PASSWORD: 'guess' });
    expectEnd(io, 2, 'wrong password for sealed.key');
    expect(io.out() + io.err()).not.toContain('guess');
  });
});

describe('artifacts', () => {
  it('get a bundle that refers to them', async () => {
    const tag = `${host}/team/script:v1`;
    await ends(0, 'push', 'script.star', tag);
    expect((await ends(4, 'verify', tag, '--key', 'krmhub.pub')).err()).toContain('has no signature');
    const { err } = await ends(0, 'sign', tag, '--key', 'krmhub.key', '--bundle', 'script.json');
    const digest = /to (sha256:\w+)/.exec(err())![1]!;
    for (const reference of [tag, `${host}/team/script@${digest}`, `oci://${tag}`]) {
      await ends(0, 'verify', reference, '--key', 'krmhub.pub');
    }
    await ends(0, 'verify', digest, '--key', 'krmhub.pub', '--bundle', 'script.json');
    const refused = await ends(4, 'verify', tag, '--key', 'other.pub', '-o', 'json');
    expect(JSON.parse(refused.out())).toMatchObject({ artifact: tag, digest, verified: false });
    expect(statementIn('script.json').subject).toEqual([{ digest: { sha256: digest.slice(7) } }]);
  });

  it('are listed with their attestations', async () => {
    const tag = `${host}/team/attested:v1`;
    await ends(0, 'push', 'script.star', tag);
    const said = ['--predicate', 'predicate.json', '--type', 'https://example.com/tests/v1'];
    await ends(0, 'sign', tag, '--key', 'krmhub.key', ...said);
    expect((await ends(4, 'verify', tag, '--key', 'krmhub.pub')).err()).toContain(
      'Verify its attestation instead: krmhub verify',
    );
    await ends(0, 'verify', tag, '--key', 'krmhub.pub', '--type', 'https://example.com/tests/v1');
    await ends(0, 'sign', tag, '--key', 'other.key');
    await ends(4, 'verify', tag, '--key', 'krmhub.pub');
    await ends(0, 'sign', tag, '--key', 'krmhub.key');
    const { out } = await ends(0, 'verify', tag, '--key', 'krmhub.pub', '-o', 'json');
    const { bundles, verified } = JSON.parse(out());
    const found = bundles.map(({ kind, verified: holds }: Record<string, unknown>) => `${kind} ${holds}`);
    expect([verified, found.sort()]).toEqual([
      true,
      ['attestation true', 'signature false', 'signature true'],
    ]);
  });

  it('are signed as stored in the registry if they are releases', async () => {
    const tag = `${host}/functions/functions.example.com/setlabels:1.0.0`;
    await ends(0, 'sign', tag, '--key', 'krmhub.key');
    await ends(0, 'verify', tag, '--key', 'krmhub.pub');
    await ends(2, 'sign', tag, '--key', 'krmhub.key', '--release', '1.0.0');
  });

  it('cannot be signed or verified if they do not exist', async () => {
    const tag = `${host}/team/nothing:v1`;
    await ends(3, 'sign', tag, '--key', 'krmhub.key');
    await ends(3, 'verify', tag, '--key', 'krmhub.pub');
  });
});

describe('tokens', () => {
  const keyless = [
    'sign',
    'b.txt',
    '--keyless',
    '--fulcio-url',
    'http://127.0.0.1:9',
    '--rekor-url',
    'http://127.0.0.1:9',
  ];

  it('are reported if they are missing, invalid, or empty, without printing them', async () => {
    expect((await ends(2, ...keyless)).err()).toContain('no identity token found');
    writeFileSync(at('token'), 'very-secret.token');
    const damaged = await ends(2, ...keyless, '--identity-token-file', 'token');
    expect(damaged.err()).toContain('invalid identity token');
    expect(damaged.err()).not.toContain('very-secret');
    const given = await run(keyless, { SIGSTORE_ID_TOKEN: 'very-secret.token' });
    expect([given.exitCode, given.err()]).toEqual([2, expect.not.stringContaining('very-secret')]);
    writeFileSync(at('token'), '\n');
    await ends(2, ...keyless, '--identity-token-file', 'token');
  });

  it('are not sent without TLS, or to an incomplete instance', async () => {
    const token = ['--identity-token-file', 'token'];
    const sign = ['sign', 'b.txt', '--keyless', ...token];
    const both = ['--fulcio-url', 'http://f.example.com', '--rekor-url', 'https://r.example.com'];
    expect((await ends(2, ...sign, ...both)).err()).toContain('--fulcio-url is not a valid https URL');
    const half = await ends(2, ...sign, '--fulcio-url', 'https://f.example.com');
    expect(half.err()).toContain('--rekor-url is required');
    const other = await run(sign, { KRMHUB_REKOR_URL: 'https://r.example.com' });
    expect(other.err()).toContain('--fulcio-url is required');
  });
});
