import { type FunctionRecord, RevisionConflict } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { AT, changeOf, foundAfter } from './sample-records.js';

export function functionContract(store: () => RegistryStore): void {
  const all = async (): Promise<FunctionRecord[]> => {
    const found: FunctionRecord[] = [];
    for await (const fn of store().allFunctions()) found.push(fn);
    return found;
  };
  const mark = { at: AT, by: 'someone', reason: 'it breaks' };

  describe('functions', () => {
    it('are found by group and kind, whatever the case of the kind', async () => {
      const change = changeOf({ kind: 'SetLabels', tags: ['mutator'] });
      expect(await store().commitFunction(change)).toEqual({ ...change.event, sequence: 1 });
      const { group: _g, kind: _k, definition: _d, mediaType: _m, ...summary } = change.release;
      const expected = { group: 'example.com', kind: 'SetLabels', revision: 1, releases: [summary] };
      expect(await store().function('example.com', 'SetLabels')).toEqual(expected);
      expect(await store().function('example.com', 'setLABELS')).toEqual(expected);
      expect(await store().function('example.org', 'SetLabels')).toBeUndefined();
      expect(await store().function('example.com', 'SetLabel')).toBeUndefined();
      expect(
        await store().functions([
          { group: 'example.com', kind: 'setlabels' },
          { group: 'a', kind: 'B' },
        ]),
      ).toEqual([expected]);
    });

    it('return a release as it was stored, with the order of the schema', async () => {
      const change = changeOf({ kind: 'SetLabels' });
      const hostile = JSON.parse(
        '{"__proto__": {"type": "string"}, "constructor": {"type": "object"}, "1": {}}',
      );
      change.release.definition.versions[0]!.schema.openAPIV3Schema['x-more'] = hostile;
      change.release.readme = change.release.digest;
      await store().commitFunction(change);
      const release = await store().release('example.com', 'setlabels', '1.0.0');
      expect(release).toEqual(change.release);
      expect(JSON.stringify(release!.definition)).toBe(JSON.stringify(change.release.definition));
      expect(await store().release('example.com', 'SetLabels', '1.0.1')).toBeUndefined();
      expect(await store().release('example.com', 'Other', '1.0.0')).toBeUndefined();
    });

    it('return definitions as JSON in the order in which they are named', async () => {
      const [first, second] = [changeOf({ kind: 'SetLabels' }), changeOf({ kind: 'First' })];
      for (const change of [first, second]) await store().commitFunction(change);
      const names = [
        { group: 'example.com', kind: 'setlabels', release: '1.0.0' },
        { group: 'example.com', kind: 'SetLabels', release: '1.0.1' },
        { group: 'example.com', kind: 'First', release: '1.0.0' },
        { group: 'example.org', kind: 'First', release: '1.0.0' },
        { group: 'example.com', kind: 'SetLabels', release: '1.0.0' },
      ];
      const found = await store().definitionsJson(names);
      const texts = found.map((json) => json && new TextDecoder().decode(json));
      const [labels, other] = [first, second].map(({ release }) => JSON.stringify(release.definition));
      expect(texts).toEqual([labels, undefined, other, undefined, labels]);
      expect(await store().definitionsJson([])).toEqual([]);
    });

    it('store the files of a release with it, or nothing', async () => {
      const change = changeOf({ kind: 'SetLabels' });
      const bytes = Buffer.from('example.com/SetLabels@1.0.0');
      await expect(store().commitFunction({ ...change, expectedRevision: 7 }, [], [bytes])).rejects.toThrow(
        RevisionConflict,
      );
      expect(await store().fileBytes(change.release.digest)).toBeUndefined();
      await store().commitFunction(change, [], [bytes, Buffer.alloc(0), bytes]);
      expect(await store().fileBytes(change.release.digest)).toEqual(bytes);
      expect(await store().fileBytes(sha256(''))).toEqual(Buffer.alloc(0));
    });

    it('list releases by precedence, the newest first', async () => {
      const order = ['1.9.0', '1.10.0', '2.0.0-rc.1', '2.0.0', '0.1.0'];
      for (const [revision, release] of order.entries()) {
        await store().commitFunction(changeOf({ kind: 'Fn', release }, revision));
      }
      const fn = await store().function('example.com', 'Fn');
      expect(fn?.releases.map(({ release }) => release)).toEqual([
        '2.0.0',
        '2.0.0-rc.1',
        '1.10.0',
        '1.9.0',
        '0.1.0',
      ]);
      expect(fn?.revision).toBe(5);
    });

    it('change only their lifecycle, and back', async () => {
      const outdated = { ...mark, replacement: { group: 'example.com', kind: 'Other', releases: '^2' } };
      await store().commitFunction(changeOf({ kind: 'Fn' }));
      await store().commitFunction(
        changeOf({ kind: 'Fn', deprecated: outdated }, 1, 'update', 'release.deprecated'),
      );
      // Who yanks it may not know what replaces it.
      await store().commitFunction(changeOf({ kind: 'Fn', yanked: mark }, 2, 'update', 'release.yanked'));
      expect(await store().release('example.com', 'Fn', '1.0.0')).toMatchObject({
        yanked: mark,
        deprecated: outdated,
      });
      expect((await store().function('example.com', 'Fn'))?.releases[0]).toMatchObject({ yanked: mark });
      const other = changeOf({ kind: 'Fn' }, 3, 'update', 'release.unyanked');
      other.release.digest = `sha256:${'0'.repeat(64)}`;
      await expect(store().commitFunction(other)).rejects.toMatchObject({ code: 'conflict' });
      await store().commitFunction(
        changeOf({ kind: 'Fn', description: 'Other.' }, 3, 'update', 'release.unyanked'),
      );
      const release = await store().release('example.com', 'Fn', '1.0.0');
      expect(release).not.toHaveProperty('yanked');
      expect(release?.deprecated).toEqual(outdated);
      expect(release?.definition.description).toBe('Fn does its work.');
    });

    it('refuse a plan for another revision, and store nothing of it', async () => {
      await store().commitFunction(changeOf({ kind: 'Fn' }));
      const stale = [
        changeOf({ kind: 'Fn', release: '2.0.0' }, 0),
        changeOf({ kind: 'Fn', release: '2.0.0' }, 2),
        changeOf({ kind: 'FN', release: '2.0.0' }, 0),
        changeOf({ kind: 'Other' }, 1),
      ];
      for (const change of stale)
        await expect(store().commitFunction(change)).rejects.toThrow(RevisionConflict);
      await expect(
        store().commitFunction(changeOf({ kind: 'FN', release: '2.0.0' }, 1)),
      ).rejects.toMatchObject({
        code: 'conflict',
      });
      await expect(store().commitFunction(changeOf({ kind: 'Fn' }, 1))).rejects.toMatchObject({
        code: 'conflict',
      });
      expect((await all()).map(({ kind, revision, releases }) => [kind, revision, releases.length])).toEqual([
        ['Fn', 1, 1],
      ]);
      expect(await store().lastEvent()).toBe(1);
      expect((await store().search({ limit: 10 })).total).toBe(1);
    });

    it('are counted once each, whatever their releases and lifecycle, and not when refused', async () => {
      expect(await store().countFunctions()).toBe(0);
      await store().commitFunction(changeOf({ kind: 'A' }));
      await store().commitFunction(changeOf({ kind: 'B' }));
      await store().commitFunction(changeOf({ kind: 'A', group: 'example.org' }));
      expect(await store().countFunctions()).toBe(3);
      await store().commitFunction(changeOf({ kind: 'A', release: '2.0.0' }, 1));
      await store().commitFunction(
        changeOf({ kind: 'B', yanked: mark, allYanked: true }, 1, 'update', 'release.yanked'),
      );
      await expect(store().commitFunction(changeOf({ kind: 'A' }, 7))).rejects.toThrow(RevisionConflict);
      expect(await store().countFunctions()).toBe(3);
    });

    it('have groups, and kinds in them, each once and in code unit order', async () => {
      expect([await store().groups(), await store().kinds('example.com')]).toEqual([[], []]);
      for (const kind of ['b', 'C', 'a']) await store().commitFunction(changeOf({ kind }));
      await store().commitFunction(changeOf({ kind: 'a', release: '2.0.0' }, 1));
      for (const group of ['z.co', 'a-b.co', 'a.co']) {
        await store().commitFunction(changeOf({ kind: 'A', group }));
      }
      expect(await store().groups()).toEqual(['a-b.co', 'a.co', 'example.com', 'z.co']);
      expect(await store().kinds('example.com')).toEqual(['C', 'a', 'b']);
      expect(await store().kinds('a.c')).toEqual([]);
    });

    it('let exactly one of 50 concurrent writers succeed, twenty times', async () => {
      for (let round = 0; round < 20; round += 1) {
        const racers = Array.from({ length: 50 }, (_, at) =>
          store().commitFunction(
            changeOf({ kind: 'Race', release: `${round}.0.0`, publisher: `p${at}` }, round),
          ),
        );
        const outcomes = await Promise.allSettled(racers);
        const lost = outcomes.filter((outcome) => outcome.status === 'rejected');
        expect(lost).toHaveLength(49);
        for (const { reason } of lost) expect(reason).toBeInstanceOf(RevisionConflict);
      }
      expect(await store().lastEvent()).toBe(20);
      expect((await store().function('example.com', 'Race'))?.releases).toHaveLength(20);
    });

    it('are all listed in code unit order during concurrent writes', async () => {
      const names = Array.from({ length: 1_100 }, (_, at) => `Fn${at}`);
      for (const kind of names)
        await store().commitFunction(changeOf({ kind, group: kind.length % 2 ? 'b.co' : 'B.co' }));
      const seen: string[] = [];
      for await (const { group, kind } of store().allFunctions()) {
        seen.push(`${group}/${kind}`);
        if (seen.length === 3) await store().commitFunction(changeOf({ kind: 'Zebra', group: 'z.co' }));
      }
      const expected = names.map((kind) => `${kind.length % 2 ? 'b.co' : 'B.co'}/${kind}`).sort();
      expect(seen).toEqual([...expected, 'z.co/Zebra']);
      expect(await store().functions(names.map((kind) => ({ group: 'b.co', kind })))).toHaveLength(
        names.filter((kind) => kind.length % 2).length,
      );
    });

    it('store the character U+0000, or refuse it in a request', async () => {
      const change = changeOf({ kind: 'Nul', description: 'a\u0000b' });
      const [result] = await Promise.allSettled([store().commitFunction(change)]);
      const stored = result.status === 'fulfilled';
      if (!stored) expect(result.reason).toMatchObject({ code: 'invalid-request' });
      expect(await store().release('example.com', 'Nul', '1.0.0')).toEqual(
        stored ? change.release : undefined,
      );
      expect(await store().lastEvent()).toBe(stored ? 1 : 0);
    });

    it('store hostile text unchanged', async () => {
      const texts = ['naïve 漢字 \u{1F34C}', "'; DROP TABLE function; --", '__proto__', '\u001b[31mred'];
      for (const [at, text] of texts.entries()) {
        const change = changeOf({
          kind: `Fn${at}`,
          description: text,
          publisher: text,
          tags: [text],
          deprecated: { ...mark, reason: text },
        });
        change.event.reason = text;
        await store().commitFunction(change);
        expect(await store().release('example.com', `Fn${at}`, '1.0.0')).toEqual(change.release);
        expect((await store().events(at, 1))[0]?.reason).toBe(text);
        const found = await store().search({ tag: [text], limit: 1 });
        expect(found.items).toEqual([foundAfter(change)]);
      }
      const lone = changeOf({
        kind: 'Lone',
        description: 'a \ud800 b',
        deprecated: { ...mark, reason: '\udc00' },
      });
      lone.event.reason = '\udc00';
      await store().commitFunction(lone);
      expect((await store().release('example.com', 'Lone', '1.0.0'))?.deprecated?.reason).toBe('\udc00');
      expect(await store().function('__proto__', 'constructor')).toBeUndefined();
    });
  });

  describe('events', () => {
    it('are numbered from 1 and read in pages', async () => {
      expect(await store().lastEvent()).toBe(0);
      expect(await store().events(0, 10)).toEqual([]);
      const changes = Array.from({ length: 7 }, (_, at) => changeOf({ kind: `Fn${at}` }));
      for (const change of changes) await store().commitFunction(change);
      expect(await store().events(0, 3)).toEqual(
        changes.slice(0, 3).map(({ event }, at) => ({ ...event, sequence: at + 1 })),
      );
      expect((await store().events(3, 100)).map(({ sequence }) => sequence)).toEqual([4, 5, 6, 7]);
      expect((await store().events(3, 100, 6)).map(({ sequence }) => sequence)).toEqual([4, 5]);
      expect((await store().events(0, 2, 6)).map(({ sequence }) => sequence)).toEqual([1, 2]);
      expect(await store().events(5, 100, 6)).toEqual([]);
      expect(await store().events(7, 100)).toEqual([]);
      expect(await store().events(0, 0)).toEqual([]);
      expect(await store().lastEvent()).toBe(7);
    });

    it('name the changed functions', async () => {
      await store().commitFunction(changeOf({ kind: 'A' }));
      await store().commitFunction(changeOf({ kind: 'B' }));
      await store().applyRecipe({
        name: 'c',
        recipe: 'r',
        expectedRecipe: undefined,
        at: AT,
        by: 'x',
        event: { type: 'catalog.applied', at: AT, by: 'x', catalog: 'c' },
      });
      await store().commitFunction(changeOf({ kind: 'B', yanked: mark }, 1, 'update', 'release.yanked'));
      expect(await store().changedFunctions(0, 4)).toEqual([
        { group: 'example.com', kind: 'A' },
        { group: 'example.com', kind: 'B' },
      ]);
      expect(await store().changedFunctions(1, 4)).toEqual([{ group: 'example.com', kind: 'B' }]);
      expect(await store().changedFunctions(0, 1)).toEqual([{ group: 'example.com', kind: 'A' }]);
      expect(await store().changedFunctions(2, 3)).toEqual([]);
    });
  });
}
