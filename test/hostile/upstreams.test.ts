import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Source } from '@krmhub/api/model';
import type { SnapshotReport } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { MAX_GROWTH, MAX_WAIT, readMemory } from './neighbor.js';
import { Pace } from './pace.js';
import {
  type Answer,
  catalogOf,
  functionOf,
  giving,
  startUpstreamServer,
  type UpstreamServer,
} from './upstream-server.js';

/**
 * A hostile or dead upstream harms only its own entries. Each recipe names a good and a bad one; meanwhile
 * a client reads the catalog and publishes all the time.
 */

const { folder, remove } = temporaryFolder();
const SETTINGS = {
  KRMHUB_SOURCE_ADDRESSES: '127.0.0.1',
  KRMHUB_REQUESTS_PER_MINUTE: '0',
  KRMHUB_WRITES_PER_MINUTE: '0',
};
/** Each test applies its recipe again, with a good source and a bad one. */
const CATALOG = 'platform';
/** The build of a recipe with a source that never ends: it is pending during all other tests. */
const SLOW_SOURCE = 'slow';
const GOOD = ['Alpha', 'Beta', 'Gamma'];

let registry: RunningRegistry;
/** Another registry without attacks: delays in both come from the machine. */
let calm: RunningRegistry;
let good: UpstreamServer;
let memory: number;
let buildOfSlow: Promise<Response> | undefined;
const servers: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'), SETTINGS);
  calm = await startRegistry(path.join(folder, 'calm'), SETTINGS);
  good = await serving(
    giving(catalogOf('good.example.com', Object.fromEntries(GOOD.map((kind) => [kind, 'Good'])))),
  );
  expect((await publishOwn(registry)).status).toBe(201);
  await applied([]);
  await cut();
  memory = await readMemory(registry);
});

afterAll(async () => {
  try {
    expect((await readMemory(registry)) - memory).toBeLessThan(MAX_GROWTH);
  } finally {
    const ended = await registry.stop();
    await calm.stop();
    for (const server of servers) await server.close();
    remove();
    expect(ended).toBe(0);
  }
});

async function serving(answer: Answer): Promise<UpstreamServer> {
  const server = await startUpstreamServer(answer);
  servers.push(server);
  return server;
}

let releases = 0;

/** Another release of a function of a registry. */
function publishOwn({ url, token }: RunningRegistry): Promise<Response> {
  const release = `1.0.${releases++}`;
  const spec = functionOf('own.example.com', 'Own', `The release ${release}`);
  const definition = { apiVersion: 'config.kubernetes.io/v1alpha1', kind: 'KRMFunctionDefinition', spec };
  return fetch(`${url}/api/v1/functions/own.example.com/Own/releases/${release}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml' },
    body: JSON.stringify(definition),
  });
}

function recipe(urls: readonly string[], name = CATALOG): string {
  const bad = urls.map(
    (url, index) => `  - {name: bad${index || ''}, catalog: {url: ${JSON.stringify(url)}}}\n`,
  );
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources:
  - {name: own, functions: {}, match: [{group: own.example.com}]}
  - {name: good, catalog: {url: ${JSON.stringify(good.url)}}}
${bad.join('')}`;
}

function ask(method: string, target: string, body?: string): Promise<Response> {
  return fetch(registry.url + target, {
    method,
    headers: {
      authorization: `Bearer ${registry.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/yaml' }),
    },
    ...(body === undefined ? {} : { body }),
  });
}

async function applied(urls: readonly string[], name = CATALOG): Promise<void> {
  const response = await ask('PUT', `/api/v1/catalogs/${name}`, recipe(urls, name));
  expect([response.status, response.ok ? '' : await response.text()]).toEqual([expect.any(Number), '']);
}

/**
 * Repeats a request that waits for sources: it waits as long as a response may take, and a busy machine reads slowly.
 */
async function post(target: string): Promise<string> {
  for (;;) {
    const response = await ask('POST', target);
    const text = await response.text();
    if (response.status === 503) continue;
    expect([response.status, text]).toEqual([200, expect.any(String)]);
    return text;
  }
}

async function cut(name = CATALOG): Promise<void> {
  await post(`/api/v1/catalogs/${name}/cut`);
}

async function refreshed(source = 'bad'): Promise<Source> {
  return JSON.parse(await post(`/api/v1/catalogs/${CATALOG}/sources/${source}/refresh`)) as Source;
}

async function sourceOf(source = 'bad', name = CATALOG): Promise<Source> {
  const { sources } = (await (await ask('GET', `/api/v1/sources?catalog=${name}`)).json()) as {
    sources: Source[];
  };
  return sources.find((one) => one.source === source)!;
}

async function reportOf(): Promise<SnapshotReport> {
  return (await (await ask('GET', `/api/v1/catalogs/${CATALOG}/report`)).json()) as SnapshotReport;
}

async function catalogText(name = CATALOG): Promise<string> {
  const response = await fetch(`${registry.url}/catalogs/${name}/catalog.yaml`);
  expect(response.status).toBe(200);
  return response.text();
}

async function expectGood(): Promise<void> {
  const text = await catalogText();
  for (const kind of [...GOOD, 'Own']) expect(text).toContain(`kind: ${kind}\n`);
}

/**
 * Reads a catalog and publishes until it is stopped, then checks whether clients waited longer here than at
 * the calm one.
 */
function paceOf(): { expectFlat(): Promise<void> } {
  const read = (url: string, name: string) => () => fetch(`${url}/catalogs/${name}/catalog.yaml`);
  const paces = [
    new Pace(read(registry.url, CATALOG), read(calm.url, 'default')),
    new Pace(
      () => publishOwn(registry),
      () => publishOwn(calm),
    ),
  ];
  return {
    async expectFlat() {
      for (const pace of paces) await pace.stop();
      for (const pace of paces) expect(pace.waitQuantile(0.95)).toBeLessThan(MAX_WAIT);
    },
  };
}

/** Applies a recipe with the bad source, builds it, and checks the result while others read and publish. */
async function attacked(url: string): Promise<{ source: Source; report: SnapshotReport }> {
  // With the same address a source would still have the copy that was fetched before.
  await applied([]);
  const pace = paceOf();
  await applied([url]);
  await cut();
  await pace.expectFlat();
  await expectGood();
  const report = await reportOf();
  expect(report.sources?.find(({ source }) => source === 'good')).toMatchObject({ state: 'current' });
  return { source: await sourceOf(), report };
}

/** The registry reports the problem in the list of sources and in the report, and has no copy. */
async function expectRefused(url: string, problem: string, message: RegExp): Promise<void> {
  const { source, report } = await attacked(url);
  expect(source).toMatchObject({ state: 'missing', problem, message: expect.stringMatching(message) });
  expect(report.sources?.find((one) => one.source === 'bad')).toMatchObject({
    state: 'missing',
    reason: source.message,
  });
}

describe('an upstream that sends one byte a second', () => {
  const dripping: Answer = (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/yaml' });
    const timer = setInterval(() => response.write('#'), 1_000);
    response.on('close', () => clearInterval(timer));
  };

  it('delays no reader, no publish, and no other source of its catalog', async () => {
    const slow = await serving(giving(catalogOf('slow.example.com', { Slow: 'At first' })));
    await applied([slow.url]);
    await cut();
    slow.answer = dripping;
    const pace = paceOf();
    const asked = refreshed();
    asked.catch(() => undefined);
    await sleep(500);
    good.answer = giving(
      catalogOf('good.example.com', Object.fromEntries([...GOOD, 'New'].map((k) => [k, 'Good']))),
    );
    await refreshed('good');
    await cut();
    const text = await catalogText();
    for (const kind of ['New', 'Slow', 'Own']) expect(text).toContain(`kind: ${kind}\n`);
    await sleep(1_000);
    await pace.expectFlat();
    expect(await sourceOf()).toMatchObject({ state: 'current' });
  });

  it('leaves the catalog unchanged when a recipe names it again', async () => {
    const slow = await serving(dripping);
    await applied([], SLOW_SOURCE);
    await cut(SLOW_SOURCE);
    const text = await catalogText(SLOW_SOURCE);
    await applied([slow.url], SLOW_SOURCE);
    const pace = paceOf();
    buildOfSlow = ask('POST', `/api/v1/catalogs/${SLOW_SOURCE}/cut`);
    buildOfSlow.catch(() => undefined);
    await sleep(1_500);
    await pace.expectFlat();
    expect(await catalogText(SLOW_SOURCE)).toBe(text);
    const source = await sourceOf('bad', SLOW_SOURCE);
    expect(source).toMatchObject({ state: 'missing' });
    expect(source.checkedAt).toBeUndefined();
  });
});

describe('an upstream that serves no catalog', () => {
  it('sends without an end', async () => {
    const noise = Buffer.alloc(1_048_576, '# noise\n');
    const { url } = await serving((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/yaml' });
      const more = () => {
        while (!response.destroyed && response.write(noise));
      };
      response.on('drain', more);
      more();
    });
    await expectRefused(url, 'too-large', /larger than 67108864 bytes/);
  });

  it('is not there', async () => {
    const dead = await startUpstreamServer(giving(''));
    await dead.close();
    await expectRefused(dead.url, 'unreachable', /connection refused/);
  });
});

describe('an upstream whose YAML is a bomb', () => {
  const bombs: Record<string, () => string> = {
    'that is small, and large after expansion': () => {
      const deep = `${'{"a":'.repeat(50)}[${Array(8_300).fill('"x"').join()}]${'}'.repeat(50)}`;
      const entries = Array.from({ length: 150 }, (_, at) =>
        JSON.stringify(functionOf('bad.example.com', `Deep${at}`, 'Deep')).replace('"What to do."', deep),
      );
      return catalogOf('bad.example.com', {}, entries.map((entry) => `  - ${entry}\n`).join(''));
    },
    'of lists nested without end': () => `spec: {krmFunctions: [${'[],'.repeat(2_000_000)}]}`,
  };
  it.each(Object.entries(bombs))('%s is refused', async (_, make) => {
    const { url } = await serving(giving(make()));
    await expectRefused(url, 'invalid-catalog', /./);
  });
});

describe('an upstream that is partly or sometimes good', () => {
  it('loses only the entries that cannot be used', async () => {
    const invalid = [
      '  - {group: bad.example.com, names: {kind: Nothing}}\n',
      '  - just a text\n',
      `  - ${JSON.stringify({ group: 'BAD', names: { kind: '\u001b[31mred' } })}\n`,
    ];
    const { url } = await serving(giving(catalogOf('bad.example.com', { Valid: 'Valid' }, invalid.join(''))));
    const { source, report } = await attacked(url);
    expect(source).toMatchObject({ state: 'current', copy: { entries: 1, invalidEntries: 3 } });
    expect(await catalogText()).toContain('kind: Valid\n');
    const reported = report.sources?.find((one) => one.source === 'bad');
    expect(reported?.invalid.map(({ entry }) => entry)).toEqual([1, 2, 3]);
  });

  it('goes up and down', async () => {
    const server = await serving(giving(catalogOf('bad.example.com', { Steady: 'Steady' })));
    const up = server.answer;
    await attacked(server.url);
    const pace = paceOf();
    for (let turn = 0; turn < 3; turn++) {
      server.answer = (_, response) => void response.writeHead(404).end();
      expect(await refreshed()).toMatchObject({ state: 'stale', problem: 'not-found' });
      expect(await catalogText()).toContain('kind: Steady\n');
      server.answer = up;
      expect(await refreshed()).toMatchObject({ state: 'current' });
    }
    await pace.expectFlat();
    await expectGood();
  });

  it('changes thousands of entries at every poll', async () => {
    const kinds = Array.from({ length: 2_000 }, (_, at) => `Kind${at}`);
    let looks = 0;
    const server = await serving((request, response) => {
      const text = ['A', 'B'][looks++ % 2]!;
      giving(catalogOf('bad.example.com', Object.fromEntries(kinds.map((kind) => [kind, text]))))(
        request,
        response,
      );
    });
    await attacked(server.url);
    const pace = paceOf();
    for (let turn = 0; turn < 3; turn++) {
      expect(await refreshed()).toMatchObject({ state: 'current', copy: { entries: 2_000 } });
    }
    await cut();
    await pace.expectFlat();
    await expectGood();
  });
});

it('a build reports that it waits for a source that never ends', async () => {
  const response = await buildOfSlow!;
  expect([response.status, await response.json()]).toEqual([
    503,
    expect.objectContaining({ detail: expect.stringContaining('still syncing') }),
  ]);
});

it('a shutdown does not wait for a source that never ends', async () => {
  const other = await startRegistry(path.join(folder, 'stopped'), SETTINGS);
  const { url } = await serving((_, response) => void response.writeHead(200).write('#'));
  const response = await fetch(`${other.url}/api/v1/catalogs/${CATALOG}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${other.token}`, 'content-type': 'application/yaml' },
    body: recipe([url]),
  });
  expect(response.status).toBe(201);
  await sleep(500);
  expect(await other.stop()).toBe(0);
});
