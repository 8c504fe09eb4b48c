import { AccessRules, type CatalogRecord, NO_ACCESS, type SnapshotStore } from '@krmhub/catalog';
import { expect, it } from 'vitest';
import { readableStore } from '../../store/readable-store.js';
import type { RegistryStore } from '../../store/registry-store.js';
import { CachedCounts } from './cached-counts.js';

const NAME = { group: 'a.example.com', kind: 'SetLabels' };
const rulesWith = (visibility: 'public' | 'private', other: 'public' | 'private') =>
  new AccessRules(
    {
      ...NO_ACCESS,
      groups: [
        { pattern: NAME.group, visibility, functions: [] },
        { pattern: 'b.example.com', visibility: other, functions: [] },
      ],
    },
    [],
    visibility,
  );

it('counts by the rules that its key names, also if they change meanwhile', async () => {
  const known = { rules: rulesWith('private', 'public') };
  const store: Pick<SnapshotStore, 'countEntries'> = {
    async countEntries(_, sees) {
      const counted = new Map(sees?.(NAME) === false ? [] : [['', 1]]);
      await Promise.resolve();
      known.rules = rulesWith('public', 'private');
      return counted;
    },
  };
  const counts = new CachedCounts(readableStore(store as RegistryStore, known), known);
  const catalog = { name: 'default', throughEvent: 1 } as CatalogRecord;
  const none = { sources: new Map(), remarks: { refused: 0, shadowed: 0, yanked: 0 } };
  const all = { sources: new Map([['', 1]]), remarks: { refused: 1, shadowed: 1, yanked: 1 } };
  expect(await counts.catalogCounts(catalog)).toEqual(none);
  expect(await counts.catalogCounts(catalog)).toEqual(all);
  known.rules = rulesWith('private', 'public');
  expect(await counts.catalogCounts(catalog)).toEqual(none);
});
