import { describe, expect, it } from 'vitest';
import { FacetColumn } from './facet-column.js';
import { countNumbers, FacetTuples } from './facet-tuples.js';

/** Repeatable numbers from 0 to `below`. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

function counted(column: FacetColumn, ids: Uint32Array): Uint32Array {
  const counts = new Uint32Array(column.sets);
  countNumbers(ids, column.numbers, counts);
  return counts;
}

describe('counts of a facet', () => {
  const next = numbers(7);
  const values = Array.from({ length: 300 }, () =>
    Array.from({ length: next(4) }, () => `value ${next(60)}`),
  );
  const column = new FacetColumn();
  for (const [id, set] of values.entries()) column.put(id, set);

  function expected(ids: Iterable<number>): { value: string; count: number }[] {
    const counts = new Map<string, number>();
    for (const id of ids)
      for (const value of new Set(values[id]!)) counts.set(value, (counts.get(value) ?? 0) + 1);
    return [...counts]
      .map(([value, count]) => ({ value, count }))
      .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
      .slice(0, 20);
  }

  it.each([0, 1, 5, 40, 300])('are the same by set and by value for %i functions', (size) => {
    const ids = Uint32Array.from(new Set(Array.from({ length: size }, () => next(300))));
    expect(column.mostFrequent(counted(column, ids))).toEqual(expected(ids));
    expect(column.mostFrequentOf(ids)).toEqual(expected(ids));
  });

  it('are right while each function has one value of its own, and after one has several', () => {
    const single = new FacetColumn();
    for (const [id, value] of ['b', 'a', 'c', 'a'].entries()) single.put(id, [value]);
    const ids = Uint32Array.of(0, 1, 3);
    const both = [
      { value: 'a', count: 2 },
      { value: 'b', count: 1 },
    ];
    expect(single.mostFrequent(counted(single, ids))).toEqual(both);
    single.put(4, ['c', 'b']);
    single.put(5, []);
    expect(single.mostFrequent(counted(single, ids))).toEqual(both);
    expect(single.mostFrequent(counted(single, Uint32Array.of(4, 5)))).toEqual([
      { value: 'b', count: 1 },
      { value: 'c', count: 1 },
    ]);
  });
});

describe('facets that are counted together', () => {
  it('have the counts of each facet, also after a function changes', () => {
    const next = numbers(11);
    const columns = { size: new FacetColumn(), color: new FacetColumn() };
    const together = new FacetTuples(['size', 'color'], columns);
    const put = (id: number) => {
      columns.size.put(id, [`size ${next(3)}`]);
      columns.color.put(id, next(2) === 0 ? [] : [`color ${next(4)}`, `color ${next(4)}`]);
      together.put(id);
    };
    for (let id = 0; id < 100; id += 1) put(id);
    for (let id = 0; id < 100; id += 3) put(id);
    const ids = Uint32Array.from({ length: 60 }, (_, at) => at + 20);
    const counts = new Map(
      (['size', 'color'] as const).map((facet) => [facet, new Uint32Array(columns[facet].sets)]),
    );
    together.count(ids, counts);
    for (const facet of ['size', 'color'] as const) {
      expect(counts.get(facet)).toEqual(counted(columns[facet], ids));
    }
  });
});
