import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixtures, krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
});
afterAll(async () => {
  expect(await registry.stop()).toBe(0);
  remove();
});

const run = (...args: string[]) => krmhub(args, { cwd: folder, env: registry.env });
const functionFiles = readdirSync(path.join(fixtures, 'functions'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => path.join(fixtures, 'functions', name));

async function json(...args: string[]) {
  const { code, stdout, stderr } = await run(...args, '-o', 'json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

describe('the first flow', () => {
  it('publishes definitions under the versions of their images', async () => {
    const files = functionFiles.filter((file) => !file.includes('rename-images'));
    const refused = await run('publish', ...files);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('the API version v1beta1 is removed');
    const { code, stderr } = await run('publish', ...files, '--allow-breaking');
    expect(code, stderr).toBe(0);
  });

  it('shows the changes from one release to the next', async () => {
    const diff = (after: string) => run('diff', 'functions.example.com/SetLabels@1.0.0', after, '-o', 'json');
    const broken = await diff('2.0.0');
    expect(broken.code).toBe(1);
    const { breaking, changes } = JSON.parse(broken.stdout) as {
      breaking: number;
      changes: { rule: string; effect: string }[];
    };
    expect(breaking).toBe(1);
    expect(changes.filter(({ effect }) => effect === 'breaking')).toMatchObject([
      { rule: 'version-removed' },
    ]);
    const kept = await diff('v1.1');
    expect(kept.code, kept.stderr).toBe(0);
    expect(JSON.parse(kept.stdout)).toMatchObject({ breaking: 0, review: 0 });
  });

  it('requires --release if no image has a version', async () => {
    const file = functionFiles.find((name) => name.includes('rename-images'))!;
    const refused = await run('publish', file);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('--release');
    const { code, stderr } = await run('publish', file, '--release', 'v0.2');
    expect(code, stderr).toBe(0);
    expect((await json('show', 'functions.example.com/RenameImages')).newest.release).toBe('0.2.0');
  });

  it('stores the exact bytes of a definition', async () => {
    const response = await fetch(
      `${registry.url}/api/v1/functions/functions.example.com/SetLabels/releases/2.0.0/definition.yaml`,
    );
    const bytes = new Uint8Array(await response.arrayBuffer());
    const published = readFileSync(path.join(fixtures, 'functions/set-labels/2.0.0.yaml'));
    expect(sha256(bytes)).toBe(sha256(published));
    expect(response.headers.get('etag')).toContain(sha256(published));
  });

  it('changes nothing when the same bytes are published again', async () => {
    const before = await fetch(`${registry.url}/catalogs/default/catalog.yaml`);
    const { code, stdout, stderr } = await run(
      'publish',
      path.join(fixtures, 'functions/set-labels/2.0.0.yaml'),
      '-o',
      'json',
    );
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('unchanged');
    const after = await fetch(`${registry.url}/catalogs/default/catalog.yaml`);
    expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
  });

  it('refuses other bytes under a release that exists', async () => {
    const text = readFileSync(path.join(fixtures, 'functions/set-labels/2.0.0.yaml'), 'utf8');
    const { code, stderr } = await krmhub(['publish', '-', '--release', '2.0.0'], {
      cwd: folder,
      env: registry.env,
      stdin: text.replace('Set labels on', 'Put labels on'),
    });
    expect(code).toBe(1);
    expect(stderr).toContain(sha256(text).slice(0, 19));
  });

  it.each([
    [
      ['--tag', 'mutator'],
      ['RenameImages', 'SetLabels', 'SetNamespace'],
    ],
    [['--kind', 'SetLabels'], ['SetLabels']],
    [['--runtime', 'exec'], ['RequireLimits']],
    [['labels'], ['SetLabels']],
    [['set', 'lab'], ['SetLabels']],
    [['helm'], ['RenderChart']],
    [['chart'], ['RenderChart']],
    [['limits'], ['RequireLimits']],
  ])('search %j finds %j first', async (args, kinds) => {
    const result = await json('search', ...args);
    const found = result.items.map((item: { kind: string }) => item.kind);
    if (args[0] === '--tag') expect(found.sort()).toEqual(kinds);
    else expect(found.slice(0, kinds.length)).toEqual(kinds);
  });

  it('shows how to use a function', async () => {
    const { stdout } = await run('show', 'functions.example.com/SetLabels');
    for (const part of [
      '2.0.0',
      'registry.example.com/functions/set-labels',
      'kpt fn eval',
      'config.kubernetes.io/function',
      'labels',
      'Apache-2.0',
    ]) {
      expect(stdout).toContain(part);
    }
  });

  it('publishes the catalog of the first user story and serves it by a recipe', async () => {
    const published = await run('publish', path.join(fixtures, 'catalogs/example-co.yaml'));
    expect(published.code, published.stderr).toBe(0);
    const applied = await run('catalog', 'apply', path.join(fixtures, 'recipes/example-co.yaml'));
    expect(applied.code, applied.stderr).toBe(0);
    const text = await (await fetch(`${registry.url}/catalogs/example-co/catalog.yaml`)).text();
    expect([...text.matchAll(/kind: (\w+)$/gm)].map((match) => match[1])).toEqual([
      'Catalog',
      'JavaApplication',
      'Logger',
      'SecretSidecar',
    ]);
    const pulled = await run('catalog', 'pull', 'example-co', '--out', 'catalog.yaml');
    expect(pulled.code, pulled.stderr).toBe(0);
    expect(readFileSync(path.join(folder, 'catalog.yaml'), 'utf8')).toBe(text);
  });

  it('handles conditional requests in every coding', async () => {
    const url = `${registry.url}/catalogs/default/catalog.yaml`;
    const tags = new Set<string>();
    const bodies = new Set<string>();
    for (const coding of ['identity', 'gzip', 'br']) {
      const { status, headers, body } = await rawGet(url, { 'accept-encoding': coding });
      expect(status).toBe(200);
      expect(headers['content-encoding'] ?? 'identity').toBe(coding);
      tags.add(String(headers.etag));
      bodies.add(
        (coding === 'gzip'
          ? gunzipSync(body)
          : coding === 'br'
            ? brotliDecompressSync(body)
            : body
        ).toString(),
      );
      const again = await rawGet(url, { 'accept-encoding': coding, 'if-none-match': String(headers.etag) });
      expect([again.status, again.body.length]).toEqual([304, 0]);
    }
    expect(tags.size).toBe(3);
    expect(bodies.size).toBe(1);
  });

  it('removes a yanked release from the next snapshot and keeps the old snapshots', async () => {
    const url = `${registry.url}/catalogs/default`;
    const before = await (await fetch(`${url}/catalog.yaml`)).text();
    const { snapshots } = (await (await fetch(`${url}/snapshots`)).json()) as {
      snapshots: { serial: number }[];
    };
    const serial = snapshots[0]!.serial;
    const yanked = await run(
      'yank',
      'functions.example.com/SetLabels@2.0.0',
      '--reason',
      'drops labels of CronJobs',
    );
    expect(yanked.code, yanked.stderr).toBe(0);
    await waitUntil(
      async () => !(await (await fetch(`${url}/catalog.yaml`)).text()).includes('set-labels:v2.0.0'),
    );
    expect(await (await fetch(`${url}/snapshots/${serial}/catalog.yaml`)).text()).toBe(before);
    expect((await run('show', 'functions.example.com/SetLabels@2.0.0')).stdout).toContain(
      'drops labels of CronJobs',
    );
    const back = await run('unyank', 'functions.example.com/SetLabels@2.0.0');
    expect(back.code, back.stderr).toBe(0);
    await waitUntil(async () => (await (await fetch(`${url}/catalog.yaml`)).text()) === before);
  });

  it('refuses to write without a token, with a hint', async () => {
    const { code, stderr } = await krmhub(
      ['yank', 'functions.example.com/SetLabels@2.0.0', '--reason', 'x'],
      {
        cwd: folder,
        env: { KRMHUB_REGISTRY: registry.url },
      },
    );
    expect(code).toBe(6);
    expect(stderr).toMatch(/krmhub login|KRMHUB_TOKEN/);
  });
});

/** fetch would decode and hide the content coding. */
async function rawGet(url: string, headers: Record<string, string>) {
  const { request } = await import('node:http');
  return new Promise<{ status: number; headers: import('node:http').IncomingHttpHeaders; body: Buffer }>(
    (resolve, reject) => {
      request(url, { headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      })
        .on('error', reject)
        .end();
    },
  );
}

async function waitUntil(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 300_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('the condition did not become true in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
