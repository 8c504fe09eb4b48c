import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../store/sqlite/driver.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { MissingWords } from './missing-words.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const COUNT = 45;
const definition = (at: number) => ({ kind: `Fn${at}`, release: '1.0.0', description: 'Does something.' });
const deps = () => ({ ...registry.parts, searchSoon: undefined });

/** Publishes functions with a README, the first one with a large one, and forgets their words. */
async function publishAsBefore(): Promise<void> {
  for (let at = 0; at < COUNT; at += 1) {
    const readme = `The marmalade${at} of all.\n${at === 0 ? 'large '.repeat(20_000) : ''}`;
    expect((await registry.publish(definition(at), '', { readme })).status).toBe(201);
  }
  await registry.parts.close();
  const client = new Database(path.join(registry.folder, 'registry.db'));
  client.exec('DELETE FROM release_words; DELETE FROM function_text_whole');
  client.close();
  registry = await openTestRegistry({ folder: registry.folder });
}

async function total(text: string): Promise<number> {
  return (await registry.parts.store.search({ text, limit: 1 })).total;
}

describe('releases without words', () => {
  it('get them, once', async () => {
    await publishAsBefore();
    expect(await total('marmalade0')).toBe(0);
    expect(await new MissingWords(deps()).run()).toBe(COUNT);
    for (const at of [0, 1, COUNT - 1]) expect(await total(`marmalade${at}`)).toBe(1);
    expect(await total('field:labels')).toBe(COUNT);
    expect(await new MissingWords(deps()).run()).toBe(0);
    registry = await registry.reopen();
    expect(await new MissingWords(deps()).run()).toBe(0);
  });

  it('get them after interruptions and restarts', async () => {
    await publishAsBefore();
    let runs = 0;
    const isDone = async () =>
      (await registry.parts.store.releasesWithoutWords({ after: 0, limit: 1 })).length === 0;
    for (; !(await isDone()); runs += 1) {
      const { store, ...others } = deps();
      let left = 1 + (runs % 7) * 9;
      const job: MissingWords = new MissingWords({
        ...others,
        store: {
          ...store,
          definitionsJson: async (names) => {
            if (--left === 0 && runs % 2 === 0) void job.stop();
            if (left === 0 && runs % 2 === 1) throw new KrmhubError('unavailable', 'killed');
            return store.definitionsJson(names);
          },
        },
      });
      await job.run().catch(() => undefined);
      registry = await registry.reopen();
    }
    expect(runs).toBeGreaterThan(2);
    for (let at = 0; at < COUNT; at += 1) expect(await total(`marmalade${at}`)).toBe(1);
  });

  it('get those of their fields if the README is missing or damaged, and wait for a store', async () => {
    await publishAsBefore();
    const blobs = path.join(registry.folder, 'blobs');
    for (const name of readdirSync(blobs)) rmSync(path.join(blobs, name), { recursive: true });
    let isAway = true;
    const damaged = sha256('The marmalade1 of all.\n');
    const away = {
      get: async (digest: typeof damaged) => {
        if (isAway) throw new KrmhubError('unavailable', 'no answer');
        if (digest === damaged) throw new KrmhubError('internal', 'stored bytes are corrupt');
        return registry.parts.blobs.get(digest);
      },
    };
    await expect(new MissingWords({ ...deps(), blobs: away }).run()).rejects.toThrow('no answer');
    expect(await registry.parts.store.setting('release-words')).toBeUndefined();
    isAway = false;
    expect(await new MissingWords({ ...deps(), blobs: away }).run()).toBe(COUNT);
    expect(await registry.parts.store.setting('release-words')).toBe('complete');
    for (const [text, count] of [
      ['marmalade0', 0],
      ['marmalade1', 0],
      ['marmalade2', 1],
    ] as const)
      expect([text, await total(text)]).toEqual([text, count]);
    expect(await total('field:labels kind:fn0')).toBe(1);
  });

  it('get none once they are taken down, whenever that is', async () => {
    await publishAsBefore();
    const { store, ...others } = deps();
    let reads = 0;
    const job = new MissingWords({
      ...others,
      store: {
        ...store,
        definitionsJson: async (names) => {
          const found = await store.definitionsJson(names);
          reads += 1;
          // The one that was read, one of the batch before it, and one of a later batch.
          if (reads === 22)
            for (const at of [21, 3, 40]) expect((await registry.takeDown(definition(at))).status).toBe(200);
          return found;
        },
      },
    });
    expect(await job.run()).toBe(COUNT - 1);
    for (const [at, count] of [
      [3, 0],
      [21, 0],
      [40, 0],
      [22, 1],
    ] as const)
      expect([at, await total(`marmalade${at}`)]).toEqual([at, count]);
    await registry.parts.close();
    const client = new Database(path.join(registry.folder, 'registry.db'), { readonly: true });
    const words = client.prepare<[], string>('SELECT readme FROM release_words').pluck().all();
    client.close();
    expect(words).toHaveLength(COUNT - 3);
    expect(words.join(' ')).not.toMatch(/marmalade(?:3|21|40)\b/);
    registry = await openTestRegistry({ folder: registry.folder });
  });
});
