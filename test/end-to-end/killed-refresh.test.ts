import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Source } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  catalogText,
  startUpstream,
  type TestUpstream,
} from '../../apps/registry/src/testing/upstream-server.js';
import { krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

const { folder, remove } = temporaryFolder();
const data = path.join(folder, 'data');
const rounds = 6;
const RECIPE = (url: string) => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: collected}
spec: {sources: [{name: elsewhere, catalog: {url: '${url}'}}]}
`;

let upstream: TestUpstream;
/** Counts the served catalogs: each has its number in every entry. */
let served = 0;
/** By digest. */
const numbers = new Map<string, number>();

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.misbehave = (_, response) => {
    served += 1;
    const entries = Array.from({ length: 200 }, (_, at) => [`Fn${at}`, `served ${served}.`]);
    const text = catalogText(Object.fromEntries(entries));
    numbers.set(sha256(text), served);
    response.end(text);
  };
});
afterAll(async () => {
  await upstream.close();
  remove();
});

function call(registry: RunningRegistry, method: string, target: string, body?: string): Promise<Response> {
  return fetch(registry.url + target, {
    method,
    headers: { Authorization: `Bearer ${registry.token}`, 'Content-Type': 'application/yaml' },
    ...(body === undefined ? {} : { body }),
  });
}

const start = () => startRegistry(data, { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
const getCopy = { name: 'collected', source: 'elsewhere' };
/** The numbers in a catalog, each once. */
const numbersIn = (text: string) => [
  ...new Set([...text.matchAll(/served (\d+)\./g)].map(([, one]) => Number(one))),
];

/** Refreshes until the connection breaks, and returns the last acknowledged copy; reports the first one. */
async function refreshUntilKilled(
  registry: RunningRegistry,
  onFirst: () => void,
): Promise<Source | undefined> {
  let last: Source | undefined;
  for (;;) {
    if (last !== undefined) onFirst();
    try {
      const response = await call(registry, 'POST', fillPath('refreshSource', getCopy));
      // A registry waits for a sync only for a while.
      if (response.status === 503) continue;
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      last = (await response.json()) as Source;
      expect(last.state).toBe('current');
    } catch (error) {
      if (error instanceof TypeError || (error as { name?: string }).name === 'SyntaxError') return last;
      throw error;
    }
  }
}

describe('a SIGKILL while a source is refreshed', () => {
  it('loses no acknowledged copy, and leaves no partial one', async () => {
    const registry = await start();
    const applied = await call(
      registry,
      'PUT',
      fillPath('catalog', { name: 'collected' }),
      RECIPE(`${upstream.origin}/catalog.yaml`),
    );
    expect(applied.status, await applied.text()).toBe(201);
    // There is a copy before the first kill, however slow the machine is.
    expect((await call(registry, 'POST', fillPath('refreshSource', getCopy))).status).toBe(200);
    let running = registry;
    for (let round = 1; round <= rounds; round++) {
      let working: Promise<Source | undefined> | undefined;
      await new Promise<void>((resolve, reject) => {
        working = refreshUntilKilled(running, resolve);
        working.catch(reject);
      });
      await sleep(((round + 2) % 5) * 137);
      await running.stop('SIGKILL');
      const last = await working;
      const checked = await krmhub(['fsck', '--data', data]);
      expect(checked.code, checked.stdout + checked.stderr).toBe(0);
      running = await start();
      const copy = await (await call(running, 'GET', fillPath('sourceCopy', getCopy))).text();
      const number = numbers.get(sha256(copy));
      expect(number).toBeDefined();
      expect(number).toBeGreaterThanOrEqual(numbers.get(last!.copy!.digest)!);
      await call(running, 'POST', fillPath('cut', { name: 'collected' }));
      const catalog = await (await fetch(`${running.url}/catalogs/collected/catalog.yaml`)).text();
      expect(numbersIn(catalog)).toHaveLength(1);
      expect(numbersIn(catalog)[0]).toBeGreaterThanOrEqual(number!);
    }
    expect(await running.stop()).toBe(0);
  });
});
