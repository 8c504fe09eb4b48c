import type { SnapshotRecord } from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { DEFAULT_CATALOG } from '../apply-recipe.js';
import { DueCatalogs } from './due-catalogs.js';

const sized = (name: string, functions: number) => ({ name, newest: { functions } as SnapshotRecord });

it('puts those first that clients wait for, then the one that waits longest, then small ones', () => {
  const due = new DueCatalogs();
  const catalogs = [sized('large', 900), sized('medium', 50), sized('small', 1), sized('awaited', 500)];
  for (const { name } of catalogs) due.add(name);
  due.add(DEFAULT_CATALOG);
  due.expedite(['awaited', 'unknown']);
  const order = () => due.inOrder([...catalogs, sized(DEFAULT_CATALOG, 9_000)]).map(({ name }) => name);
  expect(order()).toEqual(['awaited', DEFAULT_CATALOG, 'large', 'small', 'medium']);
  due.delete('awaited');
  due.add('awaited');
  expect(order()).toEqual([DEFAULT_CATALOG, 'large', 'small', 'medium', 'awaited']);
});

it.each([1, 2, 3, 4, 5, 6])(
  'builds every catalog that is due, however often others are (seed %i)',
  (seed) => {
    const random = new Random(seed);
    const catalogs = Array.from({ length: 40 }, (_, at) => sized(`catalog-${at}`, random.below(1_000)));
    catalogs.push(sized(DEFAULT_CATALOG, 1_000));
    const due = new DueCatalogs();
    const since = new Map<string, number>();
    for (let pass = 0; pass < 2_000; pass += 1) {
      // Mostly small ones, so that they are always before the others.
      for (const { name, newest } of catalogs) {
        if (!random.chance(newest.functions < 300 ? 0.9 : 0.05) || due.has(name)) continue;
        due.add(name);
        since.set(name, pass);
      }
      if (random.chance(0.2)) due.expedite([random.pick(catalogs).name]);
      const order = due.inOrder(catalogs.filter(({ name }) => due.has(name)));
      expect(new Set(order.map(({ name }) => name))).toEqual(new Set(due.names));
      expect(order).toHaveLength(new Set(order).size);
      // As a pass does: all urgent ones, at least one of the others, and others until something is new.
      for (const one of order) {
        const { name } = one;
        const isUrgent = due.isUrgent(one);
        due.delete(name);
        // It waits for a source, and is the last one of the next pass.
        if (random.chance(0.05)) due.add(name);
        else if (!isUrgent && random.chance(0.8)) break;
      }
      for (const [name, at] of since) {
        if (!due.has(name)) since.delete(name);
        else expect(pass - at, name).toBeLessThan(3 * catalogs.length);
      }
      if (order.some(({ name }) => name === DEFAULT_CATALOG)) since.delete(DEFAULT_CATALOG);
    }
  },
);
