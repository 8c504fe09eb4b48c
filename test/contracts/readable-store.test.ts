import { setImmediate } from 'node:timers/promises';
import { AccessRules, type Actor, type EntryQuery, NO_ACCESS, VISIBILITIES } from '@krmhub/catalog';
import { type FunctionName, sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it, vi } from 'vitest';
import { asActor } from '../../apps/registry/src/http/auth/request-actor.js';
import { readableStore } from '../../apps/registry/src/store/readable-store.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { changeOf } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';

const ADMINISTRATOR: Actor = {
  name: 'admin',
  scopes: ['admin'],
  groups: ['*'],
  repositories: ['*'],
  isInside: false,
};
const GROUPS = ['a.example.com', 'b.example.com', 'c.example.com'];

describe('entries of a catalog that everybody may read', () => {
  it.each([1, 2, 3])(
    'are left out, until the next build, if their functions are hidden (%i)',
    async (seed) => {
      const random = new Random(seed);
      const store = await openSqliteStore(':memory:');
      try {
        const entries = Array.from({ length: 40 }, (_, at) => ({
          group: random.pick(GROUPS),
          kind: `Fn${at}`,
        }));
        await cutUpstream(store, 'default', entries);
        for (let count = 0; count < 10; count += 1) {
          const groups = GROUPS.map((pattern) => ({
            pattern,
            visibility: random.pick(VISIBILITIES),
            functions: entries
              .filter(({ group }) => group === pattern && random.chance(0.3))
              .map(({ kind }) => ({ kind, visibility: random.pick(VISIBILITIES) })),
          }));
          const rules = new AccessRules({ ...NO_ACCESS, groups }, [], String(count));
          const seen = readableStore(store, { rules });
          const names = (found: readonly FunctionName[]) =>
            found.map(({ group, kind }) => `${group}/${kind}`);
          const expected = entries.filter(({ group, kind }) => rules.visibilityOf(group, kind) === 'public');
          for (const limit of [1, 3, 7, 40]) {
            const walked: string[] = [];
            const query: EntryQuery = { catalog: 'default', serial: 1, of: 'held', limit };
            for (;;) {
              const { rows, next } = await seen.entryPage(query);
              walked.push(...names(rows));
              if (next === undefined) break;
              expect(rows).toHaveLength(limit);
              query.after = next;
            }
            expect(walked).toEqual(names(expected).sort());
          }
          const filter = { catalog: 'default', serial: 1, of: 'held' } as const;
          const counted = new Map(expected.length === 0 ? [] : [['banana', expected.length]]);
          expect(await seen.countEntries(filter)).toEqual(counted);
          const all = await asActor(ADMINISTRATOR, () => seen.countEntries(filter));
          expect(all).toEqual(new Map([['banana', entries.length]]));
          for (const { group, kind } of entries) {
            const isSeen = rules.visibilityOf(group, kind) === 'public';
            expect(await seen.servedEntries(group, kind)).toHaveLength(isSeen ? 1 : 0);
          }
        }
      } finally {
        await store.close();
      }
    },
  );
});

describe('the list of repositories', () => {
  const rulesOf = (...patterns: string[]) =>
    new AccessRules(
      {
        ...NO_ACCESS,
        repositories: patterns.map((pattern) => ({ pattern, visibility: 'private' as const })),
      },
      [],
      patterns.join(),
    );

  /** A store with these repositories, which counts what is asked of it. */
  async function openListed(names: string[]) {
    const store = await openSqliteStore(':memory:');
    const asked: string[] = [];
    const repositories: typeof store.repositories = async (after, limit) => {
      asked.push(`${limit} after ${after}`);
      return names.filter((name) => name > after).slice(0, limit);
    };
    const repositoriesVersion = async () => {
      asked.push('version');
      return String(names.length);
    };
    return { store: { ...store, repositories, repositoriesVersion }, asked };
  }

  it('takes the same reads for a page wherever something is hidden', async () => {
    const names = ['aa', 'bb', 'hidden/one', 'hidden/two', 'mm', 'nn', 'oo'];
    const { store, asked } = await openListed(names);
    try {
      const seen = readableStore(store, { rules: rulesOf('hidden/*') });
      await seen.repositories('', 1);
      for (const after of ['', 'a', 'aa', 'bb', 'hidden/a', 'hidden/p', 'hidden/x', 'mm', 'oo', 'z']) {
        for (const limit of [1, 2, 5, 1_000]) {
          asked.length = 0;
          const expected = names.filter((name) => name > after && !name.startsWith('hidden/'));
          expect(await seen.repositories(after, limit)).toEqual(expected.slice(0, limit));
          expect(asked).toEqual(['version']);
        }
      }
      expect(await asActor(ADMINISTRATOR, () => seen.repositories('bb', 2))).toEqual(names.slice(2, 4));
    } finally {
      await store.close();
    }
  });

  it('follows new repositories, rules, and rights', async () => {
    const names = ['aa', 'bb', 'cc'];
    const { store } = await openListed(names);
    try {
      const access = { rules: rulesOf('bb') };
      const seen = readableStore(store, access);
      expect(await seen.repositories('', 9)).toEqual(['aa', 'cc']);
      names.push('dd');
      // Within a second, only who may have pushed it sees it.
      expect(await seen.repositories('', 9)).toEqual(['aa', 'cc']);
      const pusher: Actor = {
        ...ADMINISTRATOR,
        id: 'pusher',
        scopes: ['push'],
        groups: [],
        repositories: [],
      };
      expect(await asActor(pusher, () => seen.repositories('', 9))).toEqual(['aa', 'cc', 'dd']);
      expect(await seen.repositories('', 9)).toEqual(['aa', 'cc', 'dd']);
      access.rules = rulesOf('cc', 'dd');
      expect(await seen.repositories('', 9)).toEqual(['aa', 'bb']);
      const reader: Actor = { ...ADMINISTRATOR, scopes: ['read'], groups: [], repositories: ['cc'] };
      expect(await asActor(reader, () => seen.repositories('', 9))).toEqual(['aa', 'bb', 'cc']);
      expect(await seen.repositories('', 9)).toEqual(['aa', 'bb']);
    } finally {
      await store.close();
    }
  });

  it('reads all names once at a time, and for who pushed none once a second', async () => {
    const names = Array.from({ length: 2_500 }, (_, at) => `a${String(at).padStart(4, '0')}`);
    const { store, asked } = await openListed(names);
    let [running, most, now] = [0, 0, 0];
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const repositories: typeof store.repositories = async (...given) => {
      running += 1;
      most = Math.max(most, running);
      await setImmediate();
      running -= 1;
      return store.repositories(...given);
    };
    const pusher: Actor = { ...ADMINISTRATOR, id: 'pusher', scopes: ['push'], groups: [], repositories: [] };
    const reads = () => asked.filter((one) => one === '1000 after ').length;
    try {
      const seen = readableStore({ ...store, repositories }, { rules: rulesOf('hidden/*') });
      /** Adds a name, and finds it. */
      const pushed = async (name: string) => {
        names.push(name);
        expect(await asActor(pusher, () => seen.repositories('a9', 1_000))).toContain(name);
      };
      const waiting: Promise<void>[] = [];
      for (let at = 0; at < 100; at += 1) {
        waiting.push(pushed(`b${String(at).padStart(3, '0')}`));
        if (at % 10 === 0) await setImmediate();
      }
      await Promise.all(waiting);
      expect(most).toBe(1);
      expect(reads()).toBeLessThan(20);
      asked.length = 0;
      const last = async () => (await seen.repositories('b', 1_000)).at(-1);
      for (const [name, milliseconds, found] of [
        ['c0', 500, 'b099'],
        ['c1', 499, 'b099'],
        ['c2', 1, 'c2'],
        ['c3', 999, 'c2'],
        ['c4', 1, 'c4'],
      ] as const) {
        names.push(name);
        now += milliseconds;
        expect(await last()).toBe(found);
      }
      expect(reads()).toBe(2);
    } finally {
      vi.restoreAllMocks();
      await store.close();
    }
  });

  it('is read again after it could not be read', async () => {
    const { store } = await openListed(['aa', 'bb']);
    try {
      let isAway = true;
      const repositories: typeof store.repositories = (after, limit) =>
        isAway ? Promise.reject(new Error('away')) : store.repositories(after, limit);
      const seen = readableStore({ ...store, repositories }, { rules: rulesOf('bb') });
      await expect(seen.repositories('', 9)).rejects.toThrow('away');
      isAway = false;
      expect(await seen.repositories('', 9)).toEqual(['aa']);
    } finally {
      await store.close();
    }
  });
});

it('reads no event after those that are asked for, however many are hidden', async () => {
  const store = await openSqliteStore(':memory:');
  const asked: [after: number, before: number | undefined][] = [];
  const events: typeof store.events = (after, limit, before) => {
    asked.push([after, before]);
    return store.events(after, limit, before);
  };
  try {
    for (const [at, group] of ['a', 'b', 'b', 'b', 'a', 'b'].entries())
      await store.commitFunction(changeOf({ group: `${group}.example.com`, kind: `Fn${at}` }));
    const groups = [{ pattern: 'b.example.com', visibility: 'private' as const, functions: [] }];
    const seen = readableStore(
      { ...store, events },
      { rules: new AccessRules({ ...NO_ACCESS, groups }, [], 'one') },
    );
    const read = async (...[after, limit, before]: Parameters<typeof store.events>) =>
      (await seen.events(after, limit, before)).map(({ sequence }) => sequence);
    expect(await read(0, 3, 4)).toEqual([1]);
    expect(await read(1, 1, 4)).toEqual([]);
    expect(asked.every(([after, before]) => after < 4 && before === 4)).toBe(true);
    expect(await read(1, 1)).toEqual([5]);
  } finally {
    await store.close();
  }
});

it('looks for a blob to mount from a hidden repository as from one that does not exist', async () => {
  const repositories = [{ pattern: 'team/hidden', visibility: 'private' as const }];
  const rules = new AccessRules({ ...NO_ACCESS, repositories }, [], 'one');
  const store = await openSqliteStore(':memory:');
  const asked: (string | undefined)[] = [];
  const mountBlob: typeof store.mountBlob = async (from) => {
    asked.push(from);
    return from === 'team/hidden';
  };
  try {
    const seen = readableStore({ ...store, mountBlob }, { rules });
    const mount = (from?: string) =>
      seen.mountBlob(from, 'team/mine', sha256('x'), { at: '2030-01-01T00:00:00.000Z', by: 'one' });
    expect([await mount('team/hidden'), await mount('team/absent'), await mount()]).toEqual([
      ...[false, false, false],
    ]);
    expect(asked).toEqual([expect.not.stringContaining('team'), 'team/absent']);
    expect(await asActor(ADMINISTRATOR, () => mount('team/hidden'))).toBe(true);
  } finally {
    await store.close();
  }
});
