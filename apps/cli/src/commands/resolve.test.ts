import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import { sha256 } from '@krmhub/schema';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { consumePorts } from '../registry/consume-ports.js';
import { catalogText, definitionText } from '../testing/catalog-build.js';
import { expectEnd, runTest, type TestIo, testIo } from '../testing/command-line.js';
import { GROUP, proxiedRegistry } from '../testing/proxied-registry.js';

/** `krmhub resolve` with a real registry, behind a server that records the requests. */

const HEX = 'a'.repeat(64);

const opened = proxiedRegistry();

beforeAll(async () => {
  await publishAll('SetLabels', '1.0.0', '1.1.0');
  await publishAll('SetNames', '2.0.0');
});

async function publishAll(kind: string, ...releases: string[]): Promise<void> {
  for (const release of releases) await opened.publish(kind, release);
}

const run = (...args: string[]): Promise<TestIo> =>
  runTest(['resolve', ...args], {
    cwd: opened.folder,
    env: { ...opened.env(), KRMHUB_REGISTRY: opened.registry.url },
  });
const resolve = (kind: string, ...args: string[]) => run(`${GROUP}/v1`, kind, ...args);
const json = (io: TestIo) => JSON.parse(io.out());

describe('a catalog in a registry', () => {
  it('gives one function with one small request, with its release, snapshot and digest', async () => {
    const { newest } = await opened.client.catalog('default');
    for (const url of [
      opened.catalogUrl(),
      `${opened.catalogUrl()}/`,
      `${opened.catalogUrl()}/catalog.yaml`,
    ]) {
      opened.proxy.requests.length = 0;
      const io = await resolve('SetLabels', '-c', url, '-o', 'json');
      expect([io.exitCode, io.err()]).toEqual([0, '']);
      const { digest } = await opened.client.release(GROUP, 'SetLabels', '1.1.0');
      expect(json(io)).toEqual({
        apiVersion: `${GROUP}/v1`,
        kind: 'SetLabels',
        catalog: {
          reference: url,
          name: 'default',
          serial: newest!.serial,
          digest: newest!.digest,
          trustedBy: '--catalog',
        },
        searched: [],
        release: '1.1.0',
        definition: digest,
        runtime: {
          type: 'container',
          image: `registry.example.com/setlabels@sha256:${HEX}`,
          network: false,
          storage: false,
        },
        inline: false,
        warnings: [],
      });
      expect(opened.paths()).toEqual([`/api/v1/catalogs/default/functions/${GROUP}/SetLabels`]);
    }
  });

  it('says the release and the snapshot also after all kinds were listed', async () => {
    const { newest } = await opened.client.catalog('default');
    const io = testIo({
      cwd: opened.folder,
      env: opened.env(),
    });
    const options = { catalogs: [opened.catalogUrl()], trustedCatalogs: [], offline: false };
    const resolver = await openResolver(consumePorts(io), options);
    try {
      const kinds = await resolver.list();
      expect(kinds.map(({ kind }) => kind)).toEqual(['SetLabels', 'SetNames']);
      const found = await resolver.resolve({ apiVersion: `${GROUP}/v1`, kind: 'SetLabels', catalogs: [] });
      expect(found).toMatchObject({ release: '1.1.0', catalog: { serial: newest!.serial } });
    } finally {
      await resolver.close();
    }
  });

  it('shows digests in full on a terminal', async () => {
    const io = await runTest(['resolve', `${GROUP}/v1`, 'SetLabels', '-c', opened.catalogUrl()], {
      cwd: opened.folder,
      env: { HOME: opened.folder },
      tty: true,
      columns: 80,
    });
    expect(io.out()).toMatch(new RegExp(`^image +registry.example.com/setlabels@sha256:${HEX}$`, 'm'));
  });

  it('is asked whether the entry changed, and offline not at all', async () => {
    const first = await resolve('SetLabels', '-c', opened.catalogUrl());
    const second = await resolve('SetLabels', '-c', opened.catalogUrl());
    expect(opened.proxy.requests.map(({ status }) => status)).toEqual([200, 304]);
    opened.proxy.requests.length = 0;
    const offline = await resolve('SetLabels', '-c', opened.catalogUrl(), '--offline');
    expect([second.out(), offline.out()]).toEqual([first.out(), first.out()]);
    expect(first.out()).toContain(`registry.example.com/setlabels@sha256:${HEX}`);
    expect(opened.proxy.requests).toEqual([]);
    expectEnd(await resolve('SetNames', '-c', opened.catalogUrl(), '--offline'), 5, '--offline is set');
  });

  it('can be named by its name only', async () => {
    const io = await resolve('SetLabels', '-c', 'default', '-o', 'json');
    expect([io.exitCode, json(io).catalog.reference]).toEqual([0, 'default']);
  });

  it('names what it has instead of a function that it has not', async () => {
    const io = await resolve('SetLabel', '-c', opened.catalogUrl());
    expect([io.exitCode, io.err()]).toEqual([
      3,
      `error: cannot resolve ${GROUP}/v1 SetLabel: not found in ${opened.catalogUrl()}\n  hint: Did you mean ${GROUP}/v1 SetLabels?\n`,
    ]);
    const version = await run(`${GROUP}/v2`, 'SetLabels', '-c', opened.catalogUrl());
    expectEnd(version, 3, `mean ${GROUP}/v1 SetLabels?`);
  });

  it('must exist: it is not skipped', async () => {
    const io = await resolve(
      'SetLabels',
      '-c',
      `${opened.proxy.url}/catalogs/nothing`,
      '-c',
      opened.catalogUrl(),
    );
    expectEnd(io, 3, '/catalogs/nothing: ');
  });

  it('may be an old snapshot', async () => {
    const { snapshots } = await opened.client.snapshots('default');
    const { serial, digest } = snapshots.find(({ functions }) => functions === 1)!;
    for (const name of [String(serial), digest]) {
      const url = `${opened.catalogUrl()}/snapshots/${name}`;
      const io = await resolve('SetLabels', '-c', url, '-o', 'json');
      expect([io.exitCode, json(io).catalog.digest]).toEqual([0, digest]);
      expect((await resolve('SetNames', '-c', url)).exitCode).toBe(3);
    }
  });

  it('reports what was deprecated and yanked', async () => {
    const kind = 'SetOwners';
    for (const release of ['1.0.0', '1.1.0']) {
      const definition = new TextEncoder().encode(definitionText({ group: GROUP, kind, release }));
      await opened.client.publish({
        group: GROUP,
        kind,
        release,
        definition,
        mediaType: 'application/yaml',
        wait: true,
      });
    }
    await opened.client.deprecate(GROUP, kind, '1.1.0', { reason: 'use SetLabels' });
    const deprecated = await resolve(kind, '-c', opened.catalogUrl());
    expect(deprecated.err()).toContain(`warning: ${GROUP}/${kind}@1.1.0 is deprecated: use SetLabels`);
    expect(deprecated.exitCode).toBe(0);
    const replacement = { group: GROUP, kind, releases: '<1.1.0' };
    await opened.client.deprecate(GROUP, kind, '1.1.0', { reason: 'broken', replacement });
    const replaced = await resolve(kind, '-c', opened.catalogUrl(), '-o', 'json');
    expect(json(replaced).warnings).toEqual([
      `${GROUP}/${kind}@1.1.0 is deprecated: broken; use ${GROUP}/${kind}@<1.1.0`,
    ]);
  });
});

describe('another web server', () => {
  it('may have a file for each entry', async () => {
    opened.proxy.intercept = (request, response) => {
      if (request.url?.startsWith('/catalogs/')) return false;
      response.writeHead(404).end('<h1>not here</h1>');
      return true;
    };
    const io = await resolve('SetLabels', '-c', opened.catalogUrl(), '-o', 'json');
    expect([io.exitCode, json(io).catalog]).toEqual([
      0,
      { reference: opened.catalogUrl(), name: 'default', trustedBy: '--catalog' },
    ]);
    expect(opened.paths().at(-1)).toBe(`/catalogs/default/functions/${GROUP}/SetLabels.yaml`);
  });

  it.each(['', '/catalog.yaml'])('may have only the whole catalog, named with %j', async (suffix) => {
    const text = catalogText(GROUP, ['SetLabels']);
    opened.proxy.intercept = (request, response) => {
      if (request.url === `/catalogs/default${suffix}`) response.end(text);
      else response.writeHead(404, { 'content-type': 'text/html' }).end();
      return true;
    };
    const io = await resolve('SetLabels', '-c', `${opened.catalogUrl()}${suffix}`, '-o', 'json');
    expect([io.exitCode, json(io).catalog.digest]).toEqual([0, sha256(text)]);
  });
});

describe('the order of catalogs', () => {
  beforeEach(async () => {
    await writeFile(
      path.join(opened.folder, 'a.yaml'),
      catalogText(GROUP, ['SetLabels'], { description: 'from a' }),
    );
    await writeFile(
      path.join(opened.folder, 'b.yaml'),
      catalogText(GROUP, ['SetLabels', 'OnlyB'], { description: 'from b' }),
    );
  });
  const winner = async (kind: string, ...args: string[]) =>
    json(await resolve(kind, ...args, '-o', 'json')).catalog;

  it('decides, and the official one is first', async () => {
    expect((await winner('SetLabels', '-c', 'a.yaml', '-c', 'b.yaml')).reference).toBe('a.yaml');
    expect((await winner('SetLabels', '-c', 'b.yaml', '-c', 'a.yaml')).reference).toBe('b.yaml');
    expect(await winner('SetLabels', '-c', 'a.yaml', '--official', 'b.yaml')).toMatchObject({
      reference: 'b.yaml',
      trustedBy: '--official',
    });
  });

  it('names the catalogs that were searched before', async () => {
    const io = await resolve('OnlyB', '-c', 'a.yaml', '-c', 'b.yaml', '-o', 'json');
    const text = await readFile(path.join(opened.folder, 'a.yaml'));
    expect(json(io).searched).toEqual([{ reference: 'a.yaml', digest: sha256(text) }]);
  });

  it('lets a catalog that is not needed be unavailable', async () => {
    const io = await resolve(
      'SetLabels',
      '-c',
      'a.yaml',
      '-c',
      'missing.yaml',
      '-c',
      'http://127.0.0.1:1/c.yaml',
    );
    expect([io.exitCode, io.err()]).toEqual([0, 'trusted by --catalog\n']);
    const needed = await resolve('SetLabels', '-c', 'missing.yaml', '-c', 'a.yaml');
    expectEnd(needed, 3, 'catalog missing.yaml: cannot read');
    const down = await resolve('SetLabels', '-c', 'http://127.0.0.1:1/c.yaml', '-c', 'a.yaml');
    expectEnd(down, 5, 'connection refused');
  });
});

describe('a digest', () => {
  it('allows only these bytes', async () => {
    const text = catalogText(GROUP, ['SetLabels']);
    await writeFile(path.join(opened.folder, 'a.yaml'), text);
    expect((await resolve('SetLabels', '-c', `a.yaml@${sha256(text)}`)).exitCode).toBe(0);
    const io = await resolve('SetLabels', '-c', `a.yaml@sha256:${HEX}`);
    expectEnd(io, 4, `--trusted-catalog ./a.yaml@${sha256(text)}`);
  });

  it('of a registry is that of catalog.yaml', async () => {
    const { newest } = await opened.client.catalog('default');
    expect((await resolve('SetLabels', '-c', `${opened.catalogUrl()}@${newest!.digest}`)).exitCode).toBe(0);
    const io = await resolve('SetLabels', '-c', `${opened.catalogUrl()}@sha256:${HEX}`);
    expectEnd(io, 4, `${opened.catalogUrl()}@${newest!.digest}`);
  });
});

describe('the cache', () => {
  it('of other users is refused', async () => {
    await mkdir(path.join(opened.folder, 'cache'), { mode: 0o777 });
    await import('node:fs/promises').then(({ chmod }) => chmod(path.join(opened.folder, 'cache'), 0o777));
    expectEnd(await resolve('SetLabels', '-c', opened.catalogUrl()), 5, 'is writable by other users');
  });
});

describe('what the user types', () => {
  it.each([
    [['v1', 'SetLabels'], 'Use GROUP/VERSION'],
    [[`${GROUP}/v1`, 'SetLabels', '-c', 'ftp://example.com/c.yaml'], 'not a catalog reference'],
    [
      [`${GROUP}/v1`, 'SetLabels', '-c', 'https://u:p@example.com/c.yaml'],
      'https://…@example.com/c.yaml is not a catalog reference: it contains credentials',
    ],
    [
      [`${GROUP}/v1`, 'SetLabels', '-c', 'https://u:my pass@example.com/c.yaml'],
      'https://…@example.com/c.yaml is not',
    ],
    [[`${GROUP}/v1`, 'SetLabels', '--runtime', 'wasm'], 'Allowed choices are'],
  ])('%j is refused if it is wrong', async (args, message) => {
    expectEnd(await run(...args), 2, message);
  });

  it('is not a definition: the hint publishes it, or quotes its file for a shell', async () => {
    await writeFile(
      path.join(opened.folder, 'one&two.yaml'),
      await readFile(
        path.join(import.meta.dirname, '../../../../test/fixtures/functions/set-labels/2.0.0.yaml'),
      ),
    );
    const io = await resolve('SetMine', '-c', 'one&two.yaml');
    expect(io.err()).toContain('hint: Publish the function, and use a catalog of the registry.');
    expect(io.err()).toMatch(/: krmhub convert '[^']*\/one&two\.yaml' --to catalog$/m);
  });

  it('is not found without any catalog', async () => {
    expectEnd(await resolve('SetLabels'), 3, 'no catalog is set');
  });
});

describe('with a lock file', () => {
  const lockFunction = async (kind: string) => {
    const io = await resolve(kind, '-c', opened.catalogUrl(), '-o', 'json');
    expect(io.exitCode, io.err()).toBe(0);
    const { catalog, definition, runtime } = json(io);
    const { name, serial, digest } = catalog;
    await writeFile(
      path.join(opened.folder, 'app.lock'),
      `apiVersion: krmhub.dev/v1alpha1
kind: Lock
catalogs:
- {reference: "${opened.catalogUrl()}", name: ${name}, serial: ${serial}, digest: "${digest}"}
functions:
- catalog: ${opened.catalogUrl()}
  apiVersion: ${GROUP}/v1
  kind: ${kind}
  release: "1.0.0"
  definition: ${definition}
  container: {image: "${runtime.image}"}
`,
    );
    return { definition, image: runtime.image };
  };

  it('is what is locked, with --frozen without a request, and found in this folder', async () => {
    await publishAll('Locked', '1.0.0');
    const { definition, image } = await lockFunction('Locked');
    await publishAll('Locked', '1.1.0');
    expect(json(await resolve('Locked', '-c', opened.catalogUrl(), '-o', 'json')).release).toBe('1.1.0');
    const lock = ['-c', opened.catalogUrl(), '-o', 'json', '--lock', 'app.lock'];
    for (const more of [[], ['--frozen']]) {
      opened.proxy.requests.length = 0;
      const io = await resolve('Locked', ...lock, ...more);
      expect([io.exitCode, json(io)]).toMatchObject([
        0,
        { release: '1.0.0', definition, runtime: { image } },
      ]);
      expect(opened.paths().length > 0).toBe(more.length === 0);
    }
    await rename(path.join(opened.folder, 'app.lock'), path.join(opened.folder, 'krmhub.lock'));
    const here = await resolve('Locked', '-c', opened.catalogUrl(), '-o', 'json');
    expect(json(here).release).toBe('1.0.0');
  });
});
