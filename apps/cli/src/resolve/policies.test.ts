import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CatalogFunction } from '@krmhub/api/model';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { Resolution, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consumePorts } from '../registry/consume-ports.js';
import { catalogText, definitionText, recipeText, sourceText } from '../testing/catalog-build.js';
import { runTest, testIo } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';
import { GROUP, proxiedRegistry } from '../testing/proxied-registry.js';

/** Entries that a signing policy of this user covers: only what a trusted signer signed is resolved. */

const opened = proxiedRegistry({ KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });

beforeAll(async () => {
  const { root, registry } = opened;
  await writeKeyFiles(root, 'good', 'other');
  for (const [kind, key] of [
    ['Signed', 'good'],
    ['ByOther', 'other'],
    ['Unsigned', undefined],
  ] as const) {
    await writeFile(path.join(root, 'definition.yaml'), definitionText({ group: GROUP, kind }));
    const signing = key === undefined ? [] : ['--key', `${key}.key`];
    const args = ['publish', 'definition.yaml', '--release', '1.0.0', ...signing];
    const io = await runTest(args, { cwd: root, env: { ...registry.env, HOME: root } });
    expect(io.exitCode, io.err()).toBe(0);
  }
});

/** What the registry says of an entry of its default catalog. */
async function readEntry(kind: string): Promise<CatalogFunction> {
  const response = await fetch(`${opened.registry.url}/api/v1/catalogs/default/functions/${GROUP}/${kind}`);
  return (await response.json()) as CatalogFunction;
}

async function trust(...args: string[]): Promise<void> {
  const io = await runTest(['trust', ...args], { cwd: opened.folder, env: opened.env() });
  expect(io.exitCode, io.err()).toBe(0);
}
const trustGood = () => trust('add', 'ours', '--group', GROUP, '--key', path.join(opened.root, 'good.pub'));

async function resolve(kind: string, options: Partial<ResolverOptions> = {}): Promise<Resolution> {
  const io = testIo({ cwd: opened.folder, env: opened.env() });
  const resolver = await openResolver(consumePorts(io), {
    catalogs: [opened.catalogUrl()],
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
    opened.proxy.requests.length = 0;
    expect(await resolve('Signed', { offline: true })).toEqual(found);
    expect(opened.proxy.requests).toEqual([]);
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
    const key = path.join(opened.root, 'good.pub');
    await trust('add', 'ours', '--group', GROUP, '--key', key, '--key', path.join(opened.root, 'other.pub'));
    const file = path.join(opened.folder, '.config/krmhub/trust.yaml');
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
    opened.proxy.intercept = (request, response) => {
      if (!request.url!.endsWith('/bundles')) return false;
      response.setHeader('content-type', 'application/json');
      response.end('{"bundles":[]}');
      return true;
    };
    await expect(resolve('Signed')).rejects.toMatchObject(untrusted('it is not signed'));
    opened.proxy.intercept = (request, response) => {
      if (!request.url!.endsWith('/bundles')) return false;
      response.writeHead(500).end();
      return true;
    };
    await expect(resolve('Signed')).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('is refused if the catalog has something else than the signed definition', async () => {
    opened.proxy.intercept = (request, response) => {
      if (!request.url!.includes('/api/v1/catalogs/default/functions/')) return false;
      readEntry('Signed').then((entry) => {
        entry.definition.versions[0]!.runtime.container!.sha256 = 'b'.repeat(64);
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(entry));
      });
      return true;
    };
    await expect(resolve('Signed')).rejects.toMatchObject(
      untrusted('the runtime of v1 in the catalog differs from the signed definition'),
    );
  });

  it('is refused if the catalog claims the signed release of another function', async () => {
    opened.proxy.intercept = (request, response) => {
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
    await writeFile(path.join(opened.folder, 'theirs.yaml'), catalogText(GROUP, ['Theirs']));
    await expect(resolve('Theirs', { catalogs: ['theirs.yaml'] })).rejects.toMatchObject(
      untrusted('the catalog does not specify its release'),
    );
  });

  it('is refused if its catalog does not specify its release: from an upstream catalog', async () => {
    const group = 'banana.example.com';
    await trust('add', 'banana', '--group', group, '--key', path.join(opened.root, 'good.pub'));
    opened.proxy.intercept = (request, response) => {
      if (request.url !== '/theirs.yaml') return false;
      response.end(catalogText(group, ['Theirs']));
      return true;
    };
    const recipe = recipeText(sourceText('theirs', `${opened.proxy.url}/theirs.yaml`), '', 'mixed');
    await opened.client.applyCatalog('mixed', new TextEncoder().encode(recipe));
    await opened.client.cutCatalog('mixed');
    const io = testIo({ cwd: opened.folder, env: opened.env() });
    const resolver = await openResolver(consumePorts(io), {
      catalogs: [`${opened.proxy.url}/catalogs/mixed`],
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
    await opened.client.applyCatalog('mirrored', new TextEncoder().encode(recipe));
    await opened.client.cutCatalog('mirrored');
    const found = await resolve('Signed', { catalogs: [`${opened.proxy.url}/catalogs/mirrored`] });
    expect(found.runtime).toMatchObject({
      image: `mirror.example.com/copies/signed@sha256:${'a'.repeat(64)}`,
    });
    expect(found.signedBy).toContain('policy ours');
  });
});

describe('an entry that no policy covers', () => {
  it('is resolved without a signature', async () => {
    await trust(
      'add',
      'others',
      '--group',
      'others.example.com',
      '--key',
      path.join(opened.root, 'good.pub'),
    );
    expect((await resolve('Unsigned')).signedBy).toBeUndefined();
  });
});

describe('a trust file that cannot be read', () => {
  it('trusts nothing', async () => {
    await trustGood();
    await writeFile(path.join(opened.folder, '.config/krmhub/trust.yaml'), '');
    await expect(resolve('Signed')).rejects.toMatchObject(untrusted('trust file'));
  });
});
