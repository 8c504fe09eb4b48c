import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { FunctionRequest, Resolution, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { sha256 } from '@krmhub/schema';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consumePorts } from '../registry/consume-ports.js';
import { catalogText } from '../testing/catalog-build.js';
import { testIo } from '../testing/command-line.js';
import { GROUP, proxiedRegistry } from '../testing/proxied-registry.js';

/** Which catalogs of a kustomization are trusted, and what the refusals say. */

const TEXT = catalogText(GROUP, ['SetLabels']);
const DIGEST = sha256(TEXT);
const OTHER = `sha256:${'b'.repeat(64)}`;

const opened = proxiedRegistry();
/** Of the catalog in the registry. */
let served: string;
let serial: number;

beforeAll(async () => {
  await opened.publish('SetLabels', '1.0.0');
  const newest = (await opened.client.catalog('default')).newest!;
  served = newest.digest;
  serial = newest.serial;
});
beforeEach(async () => {
  await mkdir(path.join(opened.folder, 'app/base'), { recursive: true });
  await writeFile(path.join(opened.folder, 'app/catalog.yaml'), TEXT);
});

type Wanted = Partial<FunctionRequest> & { options?: Partial<ResolverOptions> };

async function resolve({ options, ...request }: Wanted): Promise<Resolution> {
  const io = testIo({ cwd: opened.folder, env: opened.env() });
  const resolver = await openResolver(consumePorts(io), {
    catalogs: [],
    trustedCatalogs: [],
    offline: false,
    ...options,
  });
  try {
    return await resolver.resolve({ apiVersion: `${GROUP}/v1`, kind: 'SetLabels', catalogs: [], ...request });
  } finally {
    await resolver.close();
  }
}

const named = (text: string, more: Partial<CatalogReference> = {}): { catalogs: CatalogReference[] } => ({
  catalogs: [{ text, folder: path.join(opened.folder, 'app'), ...more }],
});
const trusting = (...trustedCatalogs: string[]) => ({ options: { trustedCatalogs } });
const untrusted = (hint: string, message = 'is not trusted') => ({
  code: 'untrusted',
  message: expect.stringContaining(message),
  hint: expect.stringContaining(hint),
});

describe('a catalog that a kustomization names', () => {
  it('is refused with the option that would trust exactly what it is now', async () => {
    await expect(
      resolve(named('catalog.yaml', { at: { file: 'app/kustomization.yaml', line: 3, column: 5 } })),
    ).rejects.toMatchObject({
      code: 'untrusted',
      message:
        'catalog catalog.yaml (app/kustomization.yaml:3:5) is not trusted: no option trusts it, and no key is pinned',
      hint: `Review it with \`krmhub catalog show ./app/catalog.yaml\`. To trust exactly this content, add --trusted-catalog ./app/catalog.yaml@${DIGEST}`,
    });
    await expect(resolve(named(`${opened.proxy.url}/catalogs/default`))).rejects.toMatchObject(
      untrusted(`--trusted-catalog ${opened.proxy.url}/catalogs/default@${served}`),
    );
  });

  it.each([
    ['a file', () => 'catalog.yaml'],
    ['the catalog of a registry', () => `${opened.proxy.url}/catalogs/default`],
    ['the file of a registry', () => `${opened.proxy.url}/catalogs/default/catalog.yaml`],
    ['JSON of a registry', () => `${opened.proxy.url}/catalogs/default/catalog.json`],
    ['a snapshot of a registry', () => `${opened.proxy.url}/catalogs/default/snapshots/${serial}`],
    ['a file of the web', () => `${opened.proxy.url}/files/catalog.yaml`],
  ])('is trusted by the option that its refusal names: %s', async (_, text) => {
    opened.proxy.intercept = (request, response) => {
      if (request.url !== '/files/catalog.yaml') return false;
      response.end(TEXT);
      return true;
    };
    const refusal = await resolve(named(text())).catch((error) => error);
    const [, option] = /--trusted-catalog (\S+?)(?:\.? |$)/.exec(refusal.hint) ?? [];
    expect(option).toMatch(/@sha256:[0-9a-f]{64}$/);
    const found = await resolve({ ...named(text()), ...trusting(option!) });
    expect(found.catalog).toMatchObject({ reference: text(), trustedBy: '--trusted-catalog' });
    const whatever = option!.replace(/@sha256:.*/, '');
    expect((await resolve({ ...named(text()), ...trusting(whatever) })).catalog).toMatchObject({
      trustedBy: '--trusted-catalog',
    });
  });

  it('is refused if its content is another than the option trusts', async () => {
    for (const [text, option, digest] of [
      ['catalog.yaml', './app/catalog.yaml', DIGEST],
      [`${opened.proxy.url}/catalogs/default`, `${opened.proxy.url}/catalogs/default`, served],
    ] as const) {
      await expect(resolve({ ...named(text), ...trusting(`${option}@${OTHER}`) })).rejects.toMatchObject(
        untrusted(
          `${option}@${digest}`,
          `it has the digest ${digest}, but --trusted-catalog trusts only ${OTHER}`,
        ),
      );
      const either = trusting(`${option}@${OTHER}`, `${option}@${digest}`);
      expect((await resolve({ ...named(text), ...either })).kind).toBe('SetLabels');
    }
  });

  it('is refused with what the options name instead', async () => {
    const url = `${opened.proxy.url}/catalogs/default`;
    const options = trusting(`${opened.proxy.url}/catalogs/defualt`, './other.yaml');
    const instead = `--trusted-catalog names ${opened.proxy.url}/catalogs/defualt, ./other.yaml, not this catalog.`;
    for (const text of [url, 'catalog.yaml']) {
      const refusal = resolve({ ...named(text), ...options });
      await expect(refusal).rejects.toMatchObject(untrusted(`${instead} Review it with`));
    }
    const another = resolve({ ...named(url), ...trusting(`${url}@${OTHER}`) });
    await expect(another).rejects.toMatchObject({ hint: expect.not.stringContaining('not this catalog') });
  });

  it.each([
    ['another file', 'catalog.yaml'],
    ['another file of the same name', './app/base/catalog.yaml'],
    ['the text without its folder', '../catalog.yaml'],
  ])('is not trusted by %s', async (_, option) => {
    await expect(resolve({ ...named('catalog.yaml'), ...trusting(option) })).rejects.toMatchObject({
      code: 'untrusted',
    });
  });

  it('is not trusted by a URL with another scheme, host, name or query', async () => {
    const url = new URL(`${opened.proxy.url}/catalogs/default`);
    for (const option of [
      url.href.replace('http:', 'https:'),
      url.href.replace('127.0.0.1', 'localhost'),
      `${url.href}s`,
      `${url.href}/catalog.yaml?profile=kep`,
      `${url.href}/snapshots/1`,
    ]) {
      await expect(resolve({ ...named(url.href), ...trusting(option) })).rejects.toMatchObject({
        code: 'untrusted',
      });
    }
  });

  it('is trusted however its URL is spelled, and where --catalog names it too', async () => {
    const url = `${opened.proxy.url}/catalogs/default`;
    for (const option of [url, `${url}/`, `${url}/catalog.yaml`, url.replace('http://', 'HTTP://')]) {
      expect(
        (await resolve({ ...named(`${url}/catalog.yaml`), ...trusting(option) })).catalog!.trustedBy,
      ).toBe('--trusted-catalog');
    }
    const both = await resolve({ ...named(url), options: { catalogs: [url] } });
    expect(both.catalog).toMatchObject({ trustedBy: '--catalog', reference: url });
  });

  it('may name its own digest, which grants no trust', async () => {
    await expect(resolve(named(`catalog.yaml@${DIGEST}`))).rejects.toMatchObject({ code: 'untrusted' });
    const option = trusting('./app/catalog.yaml');
    expect((await resolve({ ...named(`catalog.yaml@${DIGEST}`), ...option })).catalog!.digest).toBe(DIGEST);
    await expect(resolve({ ...named(`catalog.yaml@${OTHER}`), ...option })).rejects.toMatchObject(
      untrusted(`./app/catalog.yaml@${DIGEST}`, 'but the reference has another'),
    );
  });

  it('is neither fetched nor needs trust if an earlier one has the function', async () => {
    await writeFile(path.join(opened.folder, 'ours.yaml'), TEXT);
    const found = await resolve({
      ...named(`${opened.proxy.url}/catalogs/default`),
      options: { catalogs: ['ours.yaml'] },
    });
    expect([found.catalog!.reference, opened.proxy.requests]).toEqual(['ours.yaml', []]);
  });

  it('needs trust even if it does not have the function: it could', async () => {
    const catalogs = [
      ...named('catalog.yaml').catalogs,
      ...named(`${opened.proxy.url}/catalogs/default`).catalogs,
    ];
    const options = { trustedCatalogs: [`${opened.proxy.url}/catalogs/default`] };
    await expect(resolve({ catalogs, kind: 'SetNames', options })).rejects.toMatchObject(
      untrusted('./app/catalog.yaml@'),
    );
  });

  it('that cannot be read either is not trusted in the first place', async () => {
    await expect(resolve(named('http://127.0.0.1:1/catalog.yaml'))).rejects.toMatchObject(
      untrusted(
        'To trust any content of it, add --trusted-catalog http://127.0.0.1:1/catalog.yaml',
        'connection refused',
      ),
    );
    await expect(resolve(named('missing.yaml'))).rejects.toMatchObject({ code: 'not-found' });
  });

  it('is seen by its own layer only', async () => {
    await expect(resolve({ options: { trustedCatalogs: ['./app/catalog.yaml'] } })).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringContaining('no catalog is set'),
    });
  });
});

describe('an inline runtime', () => {
  it('needs no catalog and no trust', async () => {
    const inline = {
      type: 'container',
      image: `example.com/java:v1@sha256:${'a'.repeat(64)}`,
      network: false,
      mounts: [],
      envs: [],
    } as const;
    expect(await resolve({ inline, ...named('missing.yaml') })).toEqual({
      apiVersion: `${GROUP}/v1`,
      kind: 'SetLabels',
      searched: [],
      runtime: { ...inline, digest: `sha256:${'a'.repeat(64)}`, digestFrom: 'reference' },
      inline: true,
      warnings: [],
    });
  });
});

describe('a resolver', () => {
  it('reads what it needs once, for several requests at a time', async () => {
    const io = testIo({ cwd: opened.folder, env: opened.env() });
    const text = `${opened.proxy.url}/catalogs/default/snapshots/${serial}`;
    const resolver = await openResolver(consumePorts(io), {
      catalogs: [text],
      trustedCatalogs: [],
      offline: false,
    });
    const request = { apiVersion: `${GROUP}/v1`, kind: 'SetLabels', catalogs: [] };
    const found = await Promise.all(Array.from({ length: 20 }, () => resolver.resolve(request)));
    await resolver.close();
    expect(new Set(found.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(opened.proxy.requests).toHaveLength(1);
  });

  it('lists the kinds of the catalogs in its options, each once', async () => {
    await writeFile(path.join(opened.folder, 'ours.yaml'), catalogText(GROUP, ['SetLabels', 'SetNames']));
    const io = testIo({ cwd: opened.folder, env: opened.env() });
    const resolver = await openResolver(consumePorts(io), {
      official: 'ours.yaml',
      catalogs: [`${opened.proxy.url}/catalogs/default`],
      trustedCatalogs: [],
      offline: false,
    });
    expect(await resolver.list()).toEqual([
      { apiVersion: `${GROUP}/v1`, kind: 'SetLabels', catalog: 'ours.yaml' },
      { apiVersion: `${GROUP}/v1`, kind: 'SetNames', catalog: 'ours.yaml' },
    ]);
    await resolver.close();
  });
});
