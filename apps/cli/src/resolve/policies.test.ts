import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import type { CatalogFunction } from '@krmhub/api/model';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { catalogText, definitionText, recipeText, sourceText } from '../testing/catalog-build.js';
import { runTest, type TestRegistry, testIo, testRegistry } from '../testing/command-line.js';
import { type RecordingProxy, recordingProxy } from '../testing/recording-proxy.js';
import { openResolver } from './open-resolver.js';
import type { Resolution, ResolverOptions } from './resolution.js';

/** Entries that a signing policy of this user covers: only what a trusted signer signed is resolved. */

const GROUP = 'functions.example.com';

let root: string;
let folder: string;
let registry: TestRegistry;
let client: RegistryClient;
let proxy: RecordingProxy;
const password = { KRMHUB_KEY_PASSWORD: 'a password' };

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'krmhub-resolve-policies-'));
  registry = await testRegistry({ KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
  client = new RegistryClient(registry);
  proxy = await recordingProxy(registry.url);
  const run = (...args: string[]) =>
    runTest(args, { cwd: root, env: { ...registry.env, ...password, HOME: root } });
  for (const key of ['good', 'other']) expect((await run('keygen', '--out', key)).exitCode).toBe(0);
  for (const [kind, key] of [
    ['Signed', 'good'],
    ['ByOther', 'other'],
    ['Unsigned', undefined],
  ] as const) {
    await writeFile(path.join(root, 'definition.yaml'), definitionText({ group: GROUP, kind }));
    const signing = key === undefined ? [] : ['--key', `${key}.key`];
    const io = await run('publish', 'definition.yaml', '--release', '1.0.0', ...signing);
    expect(io.exitCode, io.err()).toBe(0);
  }
});
afterAll(async () => {
  proxy.close();
  await registry.close();
  await rm(root, { recursive: true, force: true });
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(root, 'user-'));
  proxy.requests.length = 0;
});
afterEach(() => {
  proxy.intercept = () => false;
});

/** What the registry says of an entry of its default catalog. */
async function readEntry(kind: string): Promise<CatalogFunction> {
  const response = await fetch(`${registry.url}/api/v1/catalogs/default/functions/${GROUP}/${kind}`);
  return (await response.json()) as CatalogFunction;
}

const env = () => ({ HOME: folder, KRMHUB_CACHE: path.join(folder, 'cache') });
const url = () => `${proxy.url}/catalogs/default`;

async function trust(...args: string[]): Promise<void> {
  const io = await runTest(['trust', ...args], { cwd: folder, env: env() });
  expect(io.exitCode, io.err()).toBe(0);
}
const trustGood = () => trust('add', 'ours', '--group', GROUP, '--key', path.join(root, 'good.pub'));

async function resolve(kind: string, options: Partial<ResolverOptions> = {}): Promise<Resolution> {
  const io = testIo({ cwd: folder, env: env() });
  const resolver = await openResolver(io, {
    catalogs: [url()],
    trustedCatalogs: [],
    offline: false,
    ...options,
  });
  try {
    return await resolver.resolve({ apiVersion: `${GROUP}/v1`, kind, catalogs: [] });
  } finally {
    await resolver.close();
  }
}

const untrusted = (message: string) => ({ code: 'untrusted', message: expect.stringContaining(message) });

describe('an entry of a group that a policy covers', () => {
  beforeEach(trustGood);

  it('is resolved if the trusted key signed its release', async () => {
    const found = await resolve('Signed');
    expect(found.signedBy).toMatch(/^the key sha256:[0-9a-f]{64} \(policy ours\)$/);
    proxy.requests.length = 0;
    expect(await resolve('Signed', { offline: true })).toEqual(found);
    expect(proxy.requests).toEqual([]);
  });

  it.each([
    ['ByOther', 'which is not trusted'],
    ['Unsigned', 'it is not signed, but the policy ours requires a signature'],
  ])('is refused otherwise: %s', async (kind, message) => {
    await expect(resolve(kind)).rejects.toMatchObject(untrusted(message));
  });

  it('is refused after its signer was revoked, also from the cache', async () => {
    await resolve('Signed');
    await trust('remove', 'ours');
    const key = path.join(root, 'good.pub');
    await trust('add', 'ours', '--group', GROUP, '--key', key, '--key', path.join(root, 'other.pub'));
    const file = path.join(folder, '.config/krmhub/trust.yaml');
    const text = await readFile(file, 'utf8');
    const pem = (await readFile(key, 'utf8')).trim().split('\n')[1]!;
    const at = text.indexOf(pem);
    const end = text.indexOf('-----END PUBLIC KEY-----', at) + '-----END PUBLIC KEY-----'.length;
    const indent = /\n( *)-? *key: \|/.exec(text)![1]!;
    await writeFile(file, `${text.slice(0, end)}\n${indent}  revoked: stolen${text.slice(end)}`);
    await expect(resolve('Signed')).rejects.toMatchObject(untrusted('revokes this signer: stolen'));
    await expect(resolve('Signed', { offline: true })).rejects.toMatchObject(
      untrusted('revokes this signer: stolen'),
    );
  });

  it('is refused if its signatures cannot be read, or are hidden', async () => {
    proxy.intercept = (request, response) => {
      if (!request.url!.endsWith('/bundles')) return false;
      response.setHeader('content-type', 'application/json');
      response.end('{"bundles":[]}');
      return true;
    };
    await expect(resolve('Signed')).rejects.toMatchObject(untrusted('it is not signed'));
    proxy.intercept = (request, response) => {
      if (!request.url!.endsWith('/bundles')) return false;
      response.writeHead(500).end();
      return true;
    };
    await expect(resolve('Signed')).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('is refused if the catalog has something else than the signed definition', async () => {
    proxy.intercept = (request, response) => {
      if (!request.url!.includes('/api/v1/catalogs/default/functions/')) return false;
      readEntry('Signed').then((entry) => {
        entry.definition.versions[0]!.runtime.container!.sha256 = 'b'.repeat(64);
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(entry));
      });
      return true;
    };
    await expect(resolve('Signed')).rejects.toMatchObject(
      untrusted('another runtime of v1 than the signed definition'),
    );
  });

  it('is refused if the catalog claims the signed release of another function', async () => {
    proxy.intercept = (request, response) => {
      if (!request.url!.includes('/api/v1/catalogs/default/functions/')) return false;
      readEntry('Signed').then((entry) => {
        entry.definition.names.kind = 'Unsigned';
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(entry));
      });
      return true;
    };
    await expect(resolve('Unsigned')).rejects.toMatchObject({ code: 'untrusted' });
  });

  it('is refused if its catalog does not specify its release: from a file', async () => {
    await writeFile(path.join(folder, 'theirs.yaml'), catalogText(GROUP, ['Theirs']));
    await expect(resolve('Theirs', { catalogs: ['theirs.yaml'] })).rejects.toMatchObject(
      untrusted('the catalog does not specify its release'),
    );
  });

  it('is refused if its catalog does not specify its release: from an upstream catalog', async () => {
    const group = 'banana.example.com';
    await trust('add', 'banana', '--group', group, '--key', path.join(root, 'good.pub'));
    proxy.intercept = (request, response) => {
      if (request.url !== '/theirs.yaml') return false;
      response.end(catalogText(group, ['Theirs']));
      return true;
    };
    const recipe = recipeText(sourceText('theirs', `${proxy.url}/theirs.yaml`), '', 'mixed');
    await client.applyCatalog('mixed', new TextEncoder().encode(recipe));
    await client.cutCatalog('mixed');
    const io = testIo({ cwd: folder, env: env() });
    const resolver = await openResolver(io, {
      catalogs: [`${proxy.url}/catalogs/mixed`],
      trustedCatalogs: [],
      offline: false,
    });
    await expect(
      resolver.resolve({ apiVersion: `${group}/v1`, kind: 'Theirs', catalogs: [] }),
    ).rejects.toMatchObject(untrusted('the catalog does not specify its release'));
    await resolver.close();
  });

  it('may be at a mirror that the catalog names, if the digest is the same', async () => {
    const recipe = recipeText(
      '  - name: ours\n    functions: {}\n    rewrite: [{from: registry.example.com/, to: mirror.example.com/copies/}]\n',
      '',
      'mirrored',
    );
    await client.applyCatalog('mirrored', new TextEncoder().encode(recipe));
    await client.cutCatalog('mirrored');
    const found = await resolve('Signed', { catalogs: [`${proxy.url}/catalogs/mirrored`] });
    expect(found.runtime).toMatchObject({
      image: `mirror.example.com/copies/signed@sha256:${'a'.repeat(64)}`,
    });
    expect(found.signedBy).toContain('policy ours');
  });
});

describe('an entry that no policy covers', () => {
  it('is resolved without a signature', async () => {
    await trust('add', 'others', '--group', 'others.example.com', '--key', path.join(root, 'good.pub'));
    expect((await resolve('Unsigned')).signedBy).toBeUndefined();
  });
});

describe('a trust file that cannot be read', () => {
  it('trusts nothing', async () => {
    await trustGood();
    await writeFile(path.join(folder, '.config/krmhub/trust.yaml'), '');
    await expect(resolve('Signed')).rejects.toMatchObject(untrusted('trust file'));
  });
});
