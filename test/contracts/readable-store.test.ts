import { AccessRules, type Actor, type EntryQuery, NO_ACCESS, VISIBILITIES } from '@krmhub/catalog';
import { type FunctionName, sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { asActor } from '../../apps/registry/src/http/auth/request-actor.js';
import { readableStore } from '../../apps/registry/src/store/readable-store.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
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
