import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  artifactManifest,
  computeDigest,
  type OciDigest,
  parseReference,
  releaseFiles,
  toContent,
  VERSION,
} from '@krmhub/oci';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOciClient } from '../registry/connect-oci.js';
import { attachBundle } from '../signatures/attach-bundle.js';
import { fileRegistry, runTest, temporaryFolder } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';

/** What `verify` says about signed content that is served as something else. */

const folder = temporaryFolder();
const at = (name: string) => path.join(folder, name);
const fixtures = fileURLToPath(new URL('../../../../test/fixtures/functions/', import.meta.url));
const GROUP = 'functions.example.com';
const SET_LABELS = `functions/${GROUP}/setlabels`;
const SET_NAMESPACE = `functions/${GROUP}/setnamespace`;
const IMAGE = 'application/vnd.oci.image.manifest.v1+json';
const registry = fileRegistry();
let host: string;
let proxy: Server;
let proxyHost: string;
/** What a path at the proxy is at the registry. */
let serveAs: (url: string) => string = (url) => url;

const run = (...args: string[]) =>
  runTest(args, {
    cwd: folder,
    env: {
      ...registry.env,
      HOME: folder,
      KRMHUB_KEY_PASSWORD: 'secret',
      KRMHUB_TRUST: at('trust.yaml'),
      NO_COLOR: '1',
    },
  });

async function ends(code: number, ...args: string[]) {
  const io = await run(...args);
  expect(io.exitCode, `krmhub ${args.join(' ')}\n${io.out()}${io.err()}`).toBe(code);
  return io;
}

const client = () => createOciClient({ env: { ...registry.env, HOME: folder } });

/** Pushes a manifest of these files, as a client that ignores krmhub's rules does. */
async function pushFiles(name: string, definition: string, readme?: string, version?: string) {
  const reference = parseReference(`${host}/${name}`);
  const files = [definition, ...(readme === undefined ? [] : [readme])].map((text) => Buffer.from(text));
  for (const bytes of [...files, Buffer.from('{}')])
    await client().pushBlob(reference, computeDigest(bytes), toContent(bytes));
  const [first, second] = files.map((bytes) => ({ digest: computeDigest(bytes), size: bytes.length }));
  const bytes = artifactManifest({
    type: 'definition',
    files: releaseFiles({ definition: { ...first!, mediaType: 'application/yaml' }, readme: second }),
    ...(version === undefined ? {} : { annotations: { [VERSION]: version } }),
  });
  await client().putManifest(reference, bytes, IMAGE);
  return { reference, digest: computeDigest(bytes), size: bytes.byteLength };
}

/** Attaches the bundle of a file to a manifest. */
async function attach(to: Awaited<ReturnType<typeof pushFiles>>, bundle: string): Promise<void> {
  await attachBundle(client(), to.reference, {
    subject: { mediaType: IMAGE, digest: to.digest, size: to.size },
    bundle: readFileSync(at(bundle)),
    predicateType: 'https://krmhub.dev/release/v1',
    created: new Date(0),
  });
}

/** Signs a manifest as `cosign sign` does: the statement names only its digest. */
async function signPlainly(to: Awaited<ReturnType<typeof pushFiles>>): Promise<void> {
  const file = `${to.digest.slice(7, 19)}.json`;
  await ends(0, 'sign', to.digest, '--key', 'team.key', '--bundle', file);
  await attach(to, file);
}

const definition = (name: string) => readFileSync(at(`${name}.yaml`), 'utf8');

beforeAll(async () => {
  host = new URL(registry.url).host;
  proxy = createServer(async (request, response) => {
    const answer = await fetch(`${registry.url}${serveAs(request.url!)}`, {
      headers: { accept: request.headers.accept ?? '*/*' },
    });
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? 'text/plain' });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  proxyHost = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  await writeKeyFiles(folder, 'team');
  for (const [name, release] of [
    ['set-labels', '1.0.0'],
    ['set-namespace', '1.4.2'],
  ] as const)
    cpSync(path.join(fixtures, name, `${release}.yaml`), at(`${name}.yaml`));
  writeFileSync(at('README.md'), '# Sets labels\n');
  const signed = ['--release', '1.0.0', '--readme', 'README.md', '--key', 'team.key'];
  await ends(0, 'publish', 'set-labels.yaml', ...signed);
  await ends(0, 'publish', 'set-namespace.yaml', '--release', '1.0.0', '--key', 'team.key');
  await ends(0, 'sign', 'set-labels.yaml', ...signed, '--bundle', 'release.json');
  await ends(0, 'trust', 'add', 'team', '--group', GROUP, '--key', 'team.pub');
});
afterAll(async () => {
  proxy.close();
  proxy.closeAllConnections();
});

const byPolicy = ['--policy', 'team'];
const byKey = ['--key', 'team.pub'];

describe('verify by policy', () => {
  it('rejects an unsigned manifest with a signed definition', async () => {
    const swap = await pushFiles(
      'team/swap:1.0.0',
      definition('set-labels'),
      '# Run this as root\n',
      '1.0.0',
    );
    await attach(swap, 'release.json');
    for (const policy of [byPolicy, []]) {
      const { err, out } = await ends(4, 'verify', `${host}/team/swap:1.0.0`, ...policy);
      expect(err()).toContain(
        `the signature covers only the definition, not the manifest ${swap.digest}, README.md`,
      );
      expect(out()).toContain('FAILED  subject');
      expect(err()).not.toContain('verified ');
    }
    const json = await ends(4, 'verify', `${host}/team/swap:1.0.0`, ...byPolicy, '-o', 'json');
    expect(JSON.parse(json.out())).toMatchObject({ verified: false, bundles: [{ verified: false }] });
    await ends(4, 'verify', `${host}/team/swap:1.0.0`, ...byKey);
  });

  it('reports the verified files of a pull if only the definition is signed', async () => {
    const readme = await pushFiles('team/pulled:1.0.0', definition('set-labels'), '# Other\n', '1.0.0');
    await attach(readme, 'release.json');
    mkdirSync(at('out'));
    const pull = ['pull', `${host}/team/pulled:1.0.0`, '--out', 'out', ...byPolicy, '-o', 'json'];
    const { out, err } = await ends(0, ...pull);
    expect(JSON.parse(out())).toMatchObject({
      verification: { trusted: true, covers: 'definition' },
      leftOut: ['README.md'],
    });
    expect(err()).toContain(
      `verified the definition of ${host}/team/pulled:1.0.0 as ${GROUP}/SetLabels@1.0.0`,
    );
    expect(readdirSync(at('out'))).toEqual(['definition.yaml']);
  });

  it('accepts a signed manifest, and prints group, kind, and release', async () => {
    const { err, out } = await ends(0, 'verify', `${host}/${SET_LABELS}:1.0.0`, ...byPolicy);
    expect(err()).toMatch(
      /verified sha256:\w+ as functions\.example\.com\/SetLabels@1\.0\.0: signed by the key/,
    );
    expect(out()).toContain(`ok      name        ${GROUP}/SetLabels@1.0.0`);
  });

  it('does not accept a script in the repository of a function', async () => {
    serveAs = (url) => url.replace('functions/other.example/kind', 'team/script');
    writeFileSync(at('script.star'), '# a script\n');
    await ends(0, 'push', 'script.star', `${host}/team/script:1.0.0`);
    await ends(0, 'sign', `${host}/team/script:1.0.0`, '--key', 'team.key');
    await ends(0, 'verify', `${host}/team/script:1.0.0`, ...byPolicy);
    for (const options of [byPolicy, byKey]) {
      const name = `${proxyHost}/functions/other.example/kind:1.0.0`;
      const { err } = await ends(4, 'verify', name, ...options);
      expect(err()).toContain('it contains no definition, but its repository belongs to other.example/kind');
    }
  });
});

describe('verify --key', () => {
  it('prints the verified group, kind, and release', async () => {
    const reference = `${host}/${SET_LABELS}:1.0.0`;
    const { err, out } = await ends(0, 'verify', reference, ...byKey, '-o', 'json');
    expect(err()).toMatch(
      /verified sha256:\w+ as functions\.example\.com\/SetLabels@1\.0\.0: signed by the key/,
    );
    const { digest, name } = JSON.parse(out());
    expect(name).toBe(`${GROUP}/SetLabels@1.0.0`);
    const exact = await ends(0, 'verify', `${host}/${SET_LABELS}@${digest}`, ...byKey);
    expect(exact.err()).toContain(`as ${GROUP}/SetLabels@1.0.0: signed by`);
    const file = await ends(0, 'verify', 'set-labels.yaml', ...byKey, '--bundle', 'release.json');
    expect(file.err()).toContain(`as ${GROUP}/SetLabels@1.0.0: signed by`);
  });

  it('rejects a signed release that is served as another release', async () => {
    serveAs = (url) => url.replace('manifests/9.9.9', 'manifests/1.0.0');
    for (const options of [byKey, byPolicy]) {
      const { err } = await ends(4, 'verify', `${proxyHost}/${SET_LABELS}:9.9.9`, ...options);
      expect(err()).toContain(
        `the signature is for ${GROUP}/SetLabels@1.0.0, not for ${GROUP}/SetLabels@9.9.9`,
      );
    }
  });

  it('rejects a signed function that is served in the repository of another function', async () => {
    serveAs = (url) => url.replace('setlabels', 'setnamespace');
    const other = await ends(0, 'verify', `${host}/${SET_NAMESPACE}:1.0.0`, ...byKey, '-o', 'json');
    const { digest } = JSON.parse(other.out());
    for (const name of [`${SET_LABELS}:1.0.0`, `${SET_LABELS}@${digest}`]) {
      const { err } = await ends(4, 'verify', `${proxyHost}/${name}`, ...byKey);
      expect(err()).toContain('it contains the definition of functions.example.com/SetNamespace');
    }
  });

  it('compares the manifest of a plain signature with the tag', async () => {
    const plain = await pushFiles('team/plain:1.0.0', definition('set-labels'), undefined, '1.0.0');
    await signPlainly(plain);
    const { err } = await ends(0, 'verify', `${host}/team/plain:1.0.0`, ...byKey);
    expect(err()).toContain(`as ${GROUP}/SetLabels@1.0.0: signed by`);
    serveAs = (url) => url.replace('manifests/9.9.9', 'manifests/1.0.0');
    const refused = await ends(4, 'verify', `${proxyHost}/team/plain:9.9.9`, ...byKey);
    expect(refused.err()).toContain(
      `the signature is for a manifest of ${GROUP}/SetLabels@1.0.0, expected ${GROUP}/SetLabels@9.9.9`,
    );
  });

  it('rejects a plain signature without a release under a version tag, and says so for other tags', async () => {
    const unnamed = await pushFiles('team/unnamed:1.0.0', definition('set-labels'));
    await signPlainly(unnamed);
    const { err } = await ends(4, 'verify', `${host}/team/unnamed:1.0.0`, ...byKey);
    expect(err()).toContain(`the signature does not contain the release, expected ${GROUP}/SetLabels@1.0.0`);
    const exact = await ends(0, 'verify', `${host}/team/unnamed@${unnamed.digest}`, ...byKey);
    expect(exact.err()).toContain(`as ${GROUP}/SetLabels (no release signed): signed by`);
  });

  it('rejects a signed snapshot that is served as another snapshot or catalog', async () => {
    const answer = await fetch(`${registry.url}/.well-known/krmhub-keys.json`);
    const { keys } = (await answer.json()) as { keys: { publicKey: string; validFrom: string }[] };
    const current = keys.find(({ validFrom }) => Date.parse(validFrom) <= Date.now())!;
    writeFileSync(at('registry.pub'), current.publicKey);
    const key = ['--key', 'registry.pub'];
    const { err } = await ends(0, 'verify', `${host}/catalogs/default:latest`, ...key);
    expect(err()).toMatch(/as snapshot \d+ of the catalog default, valid until 20\S+: signed by/);
    serveAs = (url) =>
      url.replace('catalogs/prod/', 'catalogs/default/').replace('manifests/77', 'manifests/1');
    const other = await ends(4, 'verify', `${proxyHost}/catalogs/prod:latest`, ...key);
    expect(other.err()).toContain('of the catalog default, not for the catalog prod');
    const older = await ends(4, 'verify', `${proxyHost}/catalogs/default:77`, ...key);
    expect(older.err()).toContain(
      'the signature is for snapshot 1 of the catalog default, not for snapshot 77',
    );
  });
});

describe('sign', () => {
  it('signs the release of a definition with a version tag', async () => {
    const name = 'team/signed:2.1.0';
    await ends(0, 'push', 'set-labels.yaml', `${host}/${name}`);
    const { err } = await ends(0, 'sign', `${host}/${name}`, '--key', 'team.key');
    expect(err()).toContain('(https://krmhub.dev/release/v1)');
    for (const options of [byKey, byPolicy]) {
      const verified = await ends(0, 'verify', `${host}/${name}`, ...options);
      expect(verified.err()).toContain(`as ${GROUP}/SetLabels@2.1.0: signed by`);
    }
    serveAs = (url) => url.replace('manifests/9.9.9', 'manifests/2.1.0');
    for (const options of [byKey, byPolicy])
      await ends(4, 'verify', `${proxyHost}/team/signed:9.9.9`, ...options);
  });

  it('rejects another release than in the manifest', async () => {
    const other = await pushFiles('team/renamed:3.0.0', definition('set-labels'), undefined, '1.0.0');
    const { err } = await ends(0, 'sign', `${host}/team/renamed:3.0.0`, '--key', 'team.key');
    expect(err()).toContain('(https://sigstore.dev/cosign/sign/v1)');
    await ends(4, 'verify', `${host}/team/renamed:3.0.0`, ...byKey);
    const exact: OciDigest = other.digest;
    await ends(0, 'verify', `${host}/team/renamed@${exact}`, ...byKey);
  });
});
