import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { Resolution, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consumePorts } from '../registry/consume-ports.js';
import { runTest, testIo } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';
import { GROUP, proxiedRegistry } from '../testing/proxied-registry.js';

/** Catalogs whose registry's key is pinned in the trust file: nothing of them is used that is not signed. */

const opened = proxiedRegistry();
/** Serial of a snapshot with the release 1.0.0. */
let old: number;

beforeAll(async () => {
  await opened.publish('SetLabels', '1.0.0');
  old = (await opened.client.catalog('default')).newest!.serial;
  await opened.publish('SetLabels', '1.1.0');
  const { keys } = await opened.client.registryKeys();
  await writeFile(path.join(opened.root, 'right.pub'), keys[0]!.publicKey);
  await writeKeyFiles(opened.root, 'wrong');
});

const env = () => ({ ...opened.env(), KRMHUB_REGISTRY: opened.proxy.url });

async function pin(key: 'right' | 'wrong', address = opened.catalogUrl()): Promise<void> {
  const io = await runTest(['trust', 'add', address, '--key', path.join(opened.root, `${key}.pub`)], {
    cwd: opened.folder,
    env: env(),
  });
  expect(io.exitCode, io.err()).toBe(0);
}

async function resolve(
  options: Partial<ResolverOptions> & { now?: () => Date; text?: string; kind?: string } = {},
): Promise<Resolution> {
  const { now, text = opened.catalogUrl(), kind = 'SetLabels', ...rest } = options;
  const io = testIo({ cwd: opened.folder, env: env(), ...(now === undefined ? {} : { now }) });
  const resolver = await openResolver(consumePorts(io), {
    catalogs: [],
    trustedCatalogs: [],
    offline: false,
    ...rest,
  });
  try {
    return await resolver.resolve({
      apiVersion: `${GROUP}/v1`,
      kind,
      catalogs: [{ text, folder: opened.folder }],
    });
  } finally {
    await resolver.close();
  }
}

const untrusted = (message: string) => ({ code: 'untrusted', message: expect.stringContaining(message) });

describe('a catalog with a pinned key', () => {
  beforeEach(() => pin('right'));

  it('is trusted without an option, and says the release from the signed snapshot', async () => {
    const { serial, digest } = (await opened.client.catalog('default')).newest!;
    const { keys } = await opened.client.registryKeys();
    const release = await opened.client.release(GROUP, 'SetLabels', '1.1.0');
    expect(await resolve()).toMatchObject({
      catalog: {
        reference: opened.catalogUrl(),
        name: 'default',
        serial,
        digest,
        key: keys[0]!.fingerprint,
        trustedBy: `the pinned key ${keys[0]!.fingerprint}`,
      },
      release: '1.1.0',
      definition: release.digest,
      warnings: [],
    });
  });

  it('is read as a whole once for each snapshot, and then only its signature', async () => {
    const first = await resolve();
    const { serial } = first.catalog!;
    expect(opened.paths()).toEqual([
      '/catalogs/default/snapshot.sigstore.json',
      `/catalogs/default/snapshots/${serial}/catalog.yaml`,
      `/catalogs/default/snapshots/${serial}/snapshot.json`,
      `/api/v1/functions/${GROUP}/SetLabels/releases/1.1.0`,
    ]);
    opened.proxy.requests.length = 0;
    expect(await resolve()).toEqual(first);
    expect(opened.proxy.requests).toEqual([
      { path: '/catalogs/default/snapshot.sigstore.json', status: 304 },
      { path: `/api/v1/functions/${GROUP}/SetLabels/releases/1.1.0`, status: 304 },
    ]);
    opened.proxy.requests.length = 0;
    expect(await resolve({ offline: true })).toEqual(first);
    expect(opened.proxy.requests).toEqual([]);
  });

  it.each(['/catalog.yaml', '/catalog.json', '/'])(
    'is the same with %j at the end of its URL',
    async (suffix) => {
      expect((await resolve({ text: opened.catalogUrl() + suffix })).catalog).toMatchObject({
        name: 'default',
      });
    },
  );

  it('is the same as an artifact of its registry', async () => {
    const { serial } = (await opened.client.catalog('default')).newest!;
    const text = `oci://${new URL(opened.proxy.url).host}/catalogs/default:latest`;
    expect((await resolve({ text })).catalog).toMatchObject({ name: 'default', serial });
    expect((await resolve({ text, offline: true })).catalog).toMatchObject({ name: 'default', serial });
  });

  it('is refused where the options trust only other content', async () => {
    const option = `${opened.catalogUrl()}@sha256:${'b'.repeat(64)}`;
    await expect(resolve({ trustedCatalogs: [option] })).rejects.toMatchObject(
      untrusted('trusts only sha256:bbb'),
    );
  });

  it.each([
    ['the catalog', /snapshots\/\d+\/catalog\.yaml$/],
    ['the list of its entries', /snapshots\/\d+\/snapshot\.json$/],
  ])('is refused if the server changes %s', async (_, pattern) => {
    opened.proxy.intercept = (request, response) => {
      if (!pattern.test(request.url!)) return false;
      response.end('apiVersion: config.kubernetes.io/v1alpha1\n');
      return true;
    };
    await expect(resolve()).rejects.toMatchObject(untrusted('expected the signed '));
  });

  it('is refused if its signature is missing, or is one of another catalog', async () => {
    for (const body of [undefined, '{}', await readFile(path.join(opened.root, 'right.pub'))]) {
      opened.proxy.intercept = (request, response) => {
        if (!request.url!.endsWith('sigstore.json')) return false;
        if (body === undefined) response.writeHead(404).end();
        else response.end(body);
        return true;
      };
      await expect(resolve()).rejects.toMatchObject({ code: 'untrusted' });
    }
    await opened.client.applyCatalog(
      'other',
      new TextEncoder().encode(
        'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: other}\nspec: {sources: [{name: ours, functions: {}}]}\n',
      ),
    );
    await opened.client.cutCatalog('other');
    const { bytes } = await opened.client.snapshotBundle('other');
    opened.proxy.intercept = (request, response) => {
      if (!request.url!.endsWith('sigstore.json')) return false;
      response.end(bytes);
      return true;
    };
    await expect(resolve()).rejects.toMatchObject(untrusted('signature of other, expected default'));
  });

  it('is refused if it is older than what was verified before, and if it has expired', async () => {
    const { serial } = (await resolve()).catalog!;
    const { bytes } = await opened.client.snapshotBundle('default', String(serial! - 1));
    opened.proxy.intercept = (request, response) => {
      if (request.url !== '/catalogs/default/snapshot.sigstore.json') return false;
      response.end(bytes);
      return true;
    };
    await expect(resolve()).rejects.toMatchObject(
      untrusted(`rollback: the registry serves snapshot ${serial! - 1}`),
    );
    opened.proxy.intercept = () => false;
    const later = () => new Date(Date.now() + 400 * 24 * 3_600_000);
    await expect(resolve({ now: later })).rejects.toMatchObject(untrusted('expiry: '));
    const offline = await resolve({ now: later, offline: true });
    expect(offline.warnings).toEqual([expect.stringContaining('expired at')]);
  });

  it('may be named with a snapshot, of any age', async () => {
    const found = await resolve({ text: `${opened.catalogUrl()}/snapshots/${old}` });
    expect([found.catalog!.serial, found.release]).toEqual([old, '1.0.0']);
    const { snapshots } = await opened.client.snapshots('default');
    const { digest } = snapshots.find(({ serial }) => serial === old)!;
    expect((await resolve({ text: `${opened.catalogUrl()}/snapshots/${digest}` })).catalog!.serial).toBe(old);
  });

  it('reports a release that was yanked after the snapshot, and refuses one that was taken down', async () => {
    await opened.publish('SetOwners', '1.0.0');
    await opened.client.yank(GROUP, 'SetLabels', '1.0.0', 'it is wrong');
    const yanked = await resolve({ text: `${opened.catalogUrl()}/snapshots/${old}` });
    expect([yanked.release, yanked.warnings]).toEqual([
      '1.0.0',
      [`${GROUP}/SetLabels@1.0.0 was yanked: it is wrong`],
    ]);
    await opened.client.unyank(GROUP, 'SetLabels', '1.0.0');
    opened.proxy.intercept = (request, response) => {
      if (!request.url!.endsWith('/releases/1.0.0')) return false;
      response
        .writeHead(410, { 'content-type': 'application/problem+json' })
        .end(JSON.stringify({ status: 410, code: 'gone', title: 'Gone', detail: 'taken down' }));
      return true;
    };
    await expect(resolve({ text: `${opened.catalogUrl()}/snapshots/${old}` })).rejects.toMatchObject({
      code: 'gone',
      message: expect.stringContaining(`${GROUP}/SetLabels@1.0.0 was taken down`),
    });
  });
});

describe('a catalog with another pinned key', () => {
  it('is refused, also with --catalog', async () => {
    await pin('wrong');
    await expect(resolve()).rejects.toMatchObject(untrusted('signed by the key sha256:'));
    await expect(resolve({ catalogs: [opened.catalogUrl()] })).rejects.toMatchObject(
      untrusted('signed by the key sha256:'),
    );
    // Another spelling of the address does not escape the pin.
    const file = `${opened.catalogUrl()}/catalog.yaml`;
    for (const text of [`${file}?kind=KRMFunctionCatalog`, file.replace('default', 'd%65fault')]) {
      await expect(resolve({ text, catalogs: [text] })).rejects.toMatchObject({ code: 'untrusted' });
    }
  });
});

describe('a signed catalog on this disk', () => {
  beforeEach(async () => {
    const io = await runTest(
      ['catalog', 'verify', 'default', '--key', path.join(opened.root, 'right.pub'), '--out', 'vendored'],
      {
        cwd: opened.folder,
        env: env(),
      },
    );
    expect(io.exitCode, io.err()).toBe(0);
  });
  const text = 'vendored/catalog.yaml';

  it('is trusted by the pinned key that signed it', async () => {
    await expect(resolve({ text })).rejects.toMatchObject({ code: 'untrusted' });
    await pin('right');
    const { serial } = (await opened.client.catalog('default')).newest!;
    expect((await resolve({ text })).catalog).toMatchObject({
      name: 'default',
      serial,
      trustedBy: expect.stringContaining('the pinned key sha256:'),
    });
  });

  it('is refused if it was changed after it was signed', async () => {
    await pin('right');
    await resolve({ text });
    const file = path.join(opened.folder, text);
    await writeFile(file, (await readFile(file, 'utf8')).replace('registry.example.com', 'evil.example.com'));
    await expect(resolve({ text })).rejects.toMatchObject(untrusted('does not cover'));
  });
});
