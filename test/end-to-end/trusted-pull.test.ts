import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  bundleManifest,
  computeDigest,
  EMPTY_CONFIG,
  EMPTY_DIGEST,
  MEDIA_TYPES,
  type OciDigest,
} from '@krmhub/oci';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Sigstore, startSigstore } from '../interop/sigstore-stand-in.js';
import { krmhubHere } from '../run-here.js';
import {
  type Finished,
  fixtures,
  krmhub,
  type RunningRegistry,
  startRegistry,
  temporaryFolder,
} from '../running.js';

/**
 * Checks the trust file of a user against the content that a registry in a separate process serves, with
 * the real command line.
 */

const { folder, remove } = temporaryFolder();
const GROUP = 'functions.example.com';
const FUNCTION = `functions/${GROUP}/setlabels`;
const VERSION = 'org.opencontainers.image.version';
const definition = readFileSync(path.join(fixtures, 'functions/set-labels/1.0.0.yaml'), 'utf8');
let registry: RunningRegistry;
let host: string;

/**
 * Whether commands run as separate processes. Most run in the process of the test, which takes a tenth of
 * the time.
 */
let inProcesses = false;

async function run(args: string[], extra: Record<string, string> = {}): Promise<Finished> {
  const base = {
    ...registry.env,
    KRMHUB_KEY_PASSWORD: 'of the test',
    KRMHUB_TRUST: path.join(folder, 'trust.yaml'),
  };
  const env = { ...base, ...extra };
  if (inProcesses) return krmhub(args, { cwd: folder, env });
  return krmhubHere(args, { cwd: folder, env });
}

async function does(args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await run(args, env);
  if (code !== 0) throw new Error(`krmhub ${args.join(' ')}: ended with ${code}\n${stderr}`);
  return stdout;
}

/** Publishes with the bundles in one request, as a client of the HTTP API does. */
async function publish(release: string, bundles: readonly string[]) {
  const body = new FormData();
  body.append('definition', new Blob([read('definition.yaml')], { type: 'application/yaml' }));
  for (const bundle of bundles) body.append('bundle', new Blob([read(bundle)]));
  const answer = await fetch(`${registry.url}/api/v1/functions/${GROUP}/SetLabels/releases/${release}`, {
    method: 'PUT',
    body,
    headers: { authorization: `Bearer ${registry.token}` },
  });
  expect(await answer.text()).toContain(release);
  expect(answer.status).toBe(201);
}

const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);

let outs = 0;
/** Pulls into a new folder that has a file already. */
async function pull(reference: string, ...options: string[]) {
  const out = `out-${outs++}`;
  mkdirSync(path.join(folder, out));
  write(`${out}/own.txt`, 'of the user');
  const { code, stdout, stderr } = await run([
    'pull',
    `${host}/${reference}`,
    '--out',
    out,
    '-o',
    'json',
    ...options,
  ]);
  const files = readdirSync(path.join(folder, out)).sort();
  return { code, stderr, files, data: stdout === '' ? undefined : JSON.parse(stdout) };
}

async function isRefused(reference: string, reason: string, ...options: string[]) {
  const { code, stderr, files, data } = await pull(reference, ...options);
  expect(stderr).toContain(reason);
  expect({ code, files, data }).toEqual({
    code: 4,
    files: ['own.txt'],
    data: { error: expect.objectContaining({ message: expect.any(String) }) },
  });
  return stderr;
}

async function trust(...options: string[]) {
  await does(['trust', 'add', 'example', '--group', GROUP, '--replace', ...options]);
}

/** A definition in a repository that is not a function, under a tag that may differ from its release. */
async function pushed(repository: string, tag = '1.0.0', version = '1.0.0', file = 'definition.yaml') {
  const reference = `${host}/team/${repository}:${tag}`;
  await does(['push', file, reference, '--annotation', `${VERSION}=${version}`]);
  return { reference, name: `team/${repository}:${tag}` };
}

async function attach(name: string, bundle: Uint8Array<ArrayBuffer>) {
  const [repository, tag] = name.split(':') as [string, string];
  const ask = (target: string, init: RequestInit) =>
    fetch(`${registry.url}/v2/${repository}/${target}`, {
      ...init,
      headers: { authorization: `Bearer ${registry.token}`, ...init.headers },
    });
  const manifest = await (
    await ask(`manifests/${tag}`, { headers: { accept: MEDIA_TYPES.image } })
  ).arrayBuffer();
  const digest: OciDigest = computeDigest(new Uint8Array(manifest));
  const held = bundleManifest({
    subject: { mediaType: MEDIA_TYPES.image, digest, size: manifest.byteLength },
    bundle: { digest: computeDigest(bundle), size: bundle.byteLength },
    predicateType: 'https://krmhub.dev/release/v1',
    created: '2026-01-01T00:00:00Z',
  });
  await ask(`blobs/uploads/?digest=${computeDigest(bundle)}`, { method: 'POST', body: bundle });
  await ask(`blobs/uploads/?digest=${EMPTY_DIGEST}`, { method: 'POST', body: new Uint8Array(EMPTY_CONFIG) });
  const put = await ask(`manifests/${held.digest}`, {
    method: 'PUT',
    body: new Uint8Array(held.bytes),
    headers: { 'content-type': MEDIA_TYPES.image },
  });
  expect([put.status, await put.text()]).toEqual([201, '']);
}

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  host = new URL(registry.url).host;
  write('definition.yaml', definition);
  write('other.yaml', definition.replaceAll(`group: ${GROUP}`, 'group: other.example.org'));
  for (const name of ['team', 'stranger']) await does(['keygen', '--out', name]);
  await does(['sign', 'definition.yaml', '--key', 'team.key', '--release', '1.0.0', '--bundle', 'good.json']);
  // In this order: a function that was signed once stays signed.
  await publish('1.1.0', []);
  await publish('1.0.0', ['good.json']);
});
afterEach(() => {
  inProcesses = false;
});
afterAll(async () => {
  expect(await registry.stop()).toBe(0);
  remove();
});

describe('a group that a policy of the user covers', () => {
  beforeEach(() => trust('--key', 'team.pub'));

  it('is pulled if its release is signed as this release, and prints the signer and the policy', async () => {
    inProcesses = true;
    const { code, stderr, files, data } = await pull(`${FUNCTION}:1.0.0`, '--require-trust');
    expect([code, files]).toEqual([0, ['definition.yaml', 'own.txt']]);
    expect(data.verification).toMatchObject({ trusted: true, signer: { type: 'key' }, policy: 'example' });
    expect(stderr).toMatch(
      /verified \S+ as \S+\/SetLabels@1\.0\.0: signed by the key sha256:\S+, policy example/,
    );
    expect(await does(['verify', `${host}/${FUNCTION}:1.0.0`])).toContain('policy example');
    expect(await does(['verify', 'definition.yaml', '--bundle', 'good.json'])).toContain('ok');
  });

  it('is refused without a bundle', async () => {
    inProcesses = true;
    await isRefused(
      `${FUNCTION}:1.1.0`,
      'it is not signed, but the policy example requires a signature by the key',
    );
    const { code, stderr } = await run(['verify', `${host}/${FUNCTION}:1.1.0`]);
    expect([code, stderr]).toEqual([4, expect.stringContaining('it is not signed')]);
  });

  it('is refused if a mirror serves other bytes with the signature of the release', async () => {
    write('changed.yaml', definition.replace('sha256: ', 'sha256: 0').replace(/(sha256: \w{64})\w/, '$1'));
    expect(read('changed.yaml')).not.toBe(definition);
    const { name } = await pushed('changed', '1.0.0', '1.0.0', 'changed.yaml');
    await attach(name, new Uint8Array(Buffer.from(read('good.json'))));
    await isRefused(name, 'not for this artifact');
  });
});

describe('an identity that a policy names', () => {
  const builder = {
    subject: 'https://example.com/team/.ci/build.yaml@refs/tags/v1',
    issuer: 'https://token.example.com',
  };
  let sigstore: Sigstore;
  beforeAll(async () => {
    sigstore = await startSigstore();
    write('root.json', sigstore.trustedRoot);
    write('token', sigstore.token(builder));
  });
  afterAll(() => sigstore.close());

  it('is trusted by its whole name, at the time in the log, with the root of its instance', async () => {
    const { reference, name } = await pushed('keyless');
    const { fulcioUrl, rekorUrl, timestampUrl } = sigstore;
    const services = ['--fulcio-url', fulcioUrl, '--rekor-url', rekorUrl, '--timestamp-url', timestampUrl];
    const root = ['--trusted-root', 'root.json'];
    await does(['sign', reference, '--keyless', ...services, '--identity-token-file', 'token', ...root]);
    const by = (pattern: string, ...more: string[]) =>
      trust('--issuer', builder.issuer, '--identity-pattern', pattern, ...more);
    const build = '^https://example\\.com/team/\\.ci/build\\.yaml@refs/tags/v[0-9]+$';
    await by(build);
    expect((await pull(name, ...root)).data.verification).toEqual({
      trusted: true,
      signer: { type: 'identity', ...builder },
      policy: 'example',
    });
    await isRefused(name, 'the public sigstore instance');
    await by('^https://example\\.com|nobody$');
    await isRefused(name, 'but the policy example does not allow this signer', ...root);
    await by(build, '--valid-until', '2020-01-01');
    await isRefused(name, 'trusted this signer only until 2020-01-01', ...root);
  });
});

describe('the time of a policy', () => {
  it('refuses a signer that is expired, not yet valid, or revoked', async () => {
    await trust('--key', 'team.pub', '--valid-until', '2020-01-01');
    await isRefused(`${FUNCTION}:1.0.0`, 'trusted this signer only until 2020-01-01');
    await trust('--key', 'team.pub', '--valid-from', '2099-01-01');
    await isRefused(`${FUNCTION}:1.0.0`, 'trusts this signer only from 2099-01-01');
    await trust('--key', 'team.pub');
    const text = read('trust.yaml');
    write('trust.yaml', `${text.trimEnd()}\n    revoked: the key was lost\n`);
    await isRefused(`${FUNCTION}:1.0.0`, 'the policy example revokes this signer: the key was lost');
    await isRefused(`${FUNCTION}:1.0.0`, 'the key was lost', '--policy', 'example');
    write('trust.yaml', text);
  });
});

describe('a group without a policy', () => {
  beforeEach(() => trust('--key', 'team.pub'));

  it('is pulled with a notice, and refused if trust is required', async () => {
    const { name } = await pushed('other', '1.0.0', '1.0.0', 'other.yaml');
    const { code, stderr, data } = await pull(name);
    expect([code, data.verification.trusted]).toEqual([0, false]);
    expect(stderr.match(/is not verified: .*krmhub trust add/g)).toHaveLength(1);
    await isRefused(name, 'and --require-trust is set', '--require-trust');
    await isRefused(
      name,
      'the policy example does not cover the group other.example.org',
      '--policy',
      'example',
    );
    expect((await run(['verify', `${host}/${name}`])).code).toBe(4);
  });

  it('is a script without a group, and satisfies the named policy', async () => {
    write('script.star', '# a script\n');
    const reference = `${host}/team/script:1.0.0`;
    await does(['push', 'script.star', reference]);
    await isRefused('team/script:1.0.0', 'has no group', '--require-trust');
    await isRefused('team/script:1.0.0', 'it is not signed', '--policy', 'example');
    write('tests.json', '{"passed":true}');
    const said = ['--predicate', 'tests.json', '--type', 'https://example.com/tests/v1'];
    await does(['sign', reference, '--key', 'team.key', ...said]);
    await isRefused('team/script:1.0.0', 'not a signature', '--policy', 'example');
    await does(['sign', reference, '--key', 'team.key']);
    const { code, data } = await pull('team/script:1.0.0', '--policy', 'example', '--require-trust');
    expect([code, data.verification]).toEqual([
      0,
      expect.objectContaining({ trusted: true, policy: 'example' }),
    ]);
    await does(['verify', reference, '--policy', 'example']);
    expect((await run(['verify', reference])).code).toBe(4);
    expect((await run(['pull', reference, '--policy', 'none'])).code).toBe(2);
  });
});

describe('a damaged trust file', () => {
  it.each([
    ['cut off', (text: string) => text.slice(0, text.length * 0.7)],
    ['empty', () => ''],
    ['another document', () => 'kind: ConfigMap\n'],
    ['a field that is not known', (text: string) => text.replace('groups:', 'group:')],
  ])('refuses everything: %s', async (_, damage) => {
    await trust('--key', 'team.pub');
    const text = read('trust.yaml');
    write('trust.yaml', damage(text));
    try {
      await isRefused(`${FUNCTION}:1.0.0`, 'cannot read the trusted signers');
      expect((await run(['verify', `${host}/${FUNCTION}:1.0.0`])).code).toBe(4);
      expect((await run(['trust', 'list'])).code).toBe(1);
    } finally {
      write('trust.yaml', text);
    }
  });

  it('differs from a missing one', async () => {
    const { code, stderr } = await run(['pull', `${host}/${FUNCTION}:1.0.0`, '--out', 'nothing'], {
      KRMHUB_TRUST: path.join(folder, 'nowhere.yaml'),
    });
    expect([code, stderr]).toEqual([4, expect.stringContaining('of KRMHUB_TRUST does not exist')]);
  });
});

it('checks a catalog with the pinned keys', async () => {
  const env = {
    KRMHUB_TRUST: path.join(folder, 'catalogs.yaml'),
    XDG_CONFIG_HOME: path.join(folder, 'config'),
  };
  const url = `${registry.url}/catalogs/default`;
  const keys = (await (await fetch(`${registry.url}/.well-known/krmhub-keys.json`)).json()) as {
    keys: { publicKey: string }[];
  };
  write('registry.pub', keys.keys[0]!.publicKey);
  await does(['trust', 'add', `${registry.url}/catalogs/other`, '--key', 'team.pub'], env);
  expect((await run(['catalog', 'verify', url], env)).code).toBe(2);
  await does(['trust', 'add', url, '--key', 'team.pub', '--name', 'ours'], env);
  expect((await run(['catalog', 'verify', url], env)).code).toBe(4);
  const changed = ['trust', 'add', url, '--name', 'ours', '--replace', '--key'];
  await does([...changed, 'team.pub', '--key', 'registry.pub'], env);
  await does(['catalog', 'verify', `${url}/catalog.yaml`], env);
  await does([...changed, 'registry.pub', '--valid-until', '2020-01-01'], env);
  expect(await run(['catalog', 'verify', url], env)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('no pinned key of ours is valid now'),
  });
  write('catalogs.yaml', '');
  expect((await run(['catalog', 'verify', url], env)).code).toBe(4);
});

it('loses nothing if many commands add concurrently', async () => {
  inProcesses = true;
  const env = { KRMHUB_TRUST: path.join(folder, 'many.yaml') };
  const names = Array.from({ length: 8 }, (_, at) => `policy-${at}`);
  await Promise.all(
    names.map((name) =>
      does(['trust', 'add', name, '--group', `${name}.example.com`, '--key', 'team.pub'], env),
    ),
  );
  const { policies } = JSON.parse(await does(['trust', 'list', '-o', 'json'], env)) as {
    policies: { name: string }[];
  };
  expect(policies.map(({ name }) => name).sort()).toEqual(names);
});
