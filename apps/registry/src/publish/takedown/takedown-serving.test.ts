import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../server/config.js';
import { type RunningRegistry, startRegistry } from '../../server/serve.js';
import { definitionText, releasePath, type TestDefinition } from '../../testing/test-registry.js';

const MARKER = 'zq7secretx0marker';
let folder: string;
let registry: RunningRegistry;
let headers: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-'));
  const log = pino({ level: 'silent' });
  registry = await startRegistry({ config: readConfig({}, { port: '0', data: folder }), log });
  const token = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  headers = { Authorization: `Bearer ${token}` };
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true });
});

async function publish(definition: TestDefinition): Promise<void> {
  const { status } = await fetch(`${registry.url}${releasePath(definition)}?wait=true`, {
    method: 'PUT',
    headers: { ...headers, 'Content-Type': 'application/yaml' },
    body: definitionText(definition),
  });
  expect(status).toBe(201);
}

/** Common reads: served from memory, by the routes, and by other threads. */
const READS = [
  '/catalogs/default/catalog.yaml',
  '/catalogs/default/catalog.json',
  '/catalogs/default/catalog.yaml?kind=KRMFunctionCatalog',
  '/catalogs/default/functions/example.com/SetLabels.yaml',
  '/api/v1/functions?q=sets',
  '/api/v1/functions/example.com/SetLabels',
  '/schemas/example.com/v1/SetLabels.json',
];

/** Each round publishes, reads and takes down a release. */
const rounds = process.env.KRMHUB_TEST_FULL_SIZE === undefined ? 2 : 4;

it('never serves a release after its takedown, from any thread', async () => {
  for (let at = 0; at < 8; at++) await publish({ kind: `Other${at}`, release: '1.0.0' });
  for (let round = 0; round < rounds; round++) {
    const bad = {
      kind: 'SetLabels',
      release: `1.${round}.0`,
      description: `Sets ${MARKER}.`,
      tags: [MARKER, `t${round}`],
    };
    await publish(bad);
    for (const read of READS.slice(0, 6)) {
      expect([read, (await (await fetch(registry.url + read)).text()).includes(MARKER)]).toEqual([
        read,
        true,
      ]);
    }
    let done = false;
    const seen = new Set<number>();
    const reader = (async () => {
      do {
        const { status } = await fetch(`${registry.url}${releasePath(bad)}/definition.yaml`);
        for (const read of READS) {
          const answer = await fetch(registry.url + read);
          const text = await answer.text();
          seen.add(answer.status);
          if (status === 410) expect([read, text.includes(MARKER)]).toEqual([read, false]);
        }
      } while (!done);
    })();
    const answer = await fetch(`${registry.url}${releasePath(bad)}/takedown`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: '{"reason": "leaked"}',
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ erased: true, catalogs: [{ catalog: 'default' }] });
    done = true;
    await reader;
    for (const status of seen) expect([200, 404, 410, 503]).toContain(status);
    expect((await fetch(`${registry.url}/catalogs/default/catalog.yaml`)).status).toBe(200);
    await publish({ kind: `Later${round}`, release: '1.0.0' });
    const found = await fetch(`${registry.url}/api/v1/functions?limit=100`);
    const { total, items } = (await found.json()) as { total: number; items: { kind: string }[] };
    expect([total, items.filter(({ kind }) => kind.startsWith('Later')).length]).toEqual([
      9 + round,
      round + 1,
    ]);
  }
});
