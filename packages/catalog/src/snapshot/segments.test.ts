import { sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { compareFunctionNames } from '../ports/function-name.js';
import {
  beginsSegment,
  isInRange,
  rangesToSplit,
  type Segment,
  type SegmentEntry,
  SegmentSplitter,
} from './segments.js';

const entry = (name: number, content: number, bytes = 5_000): SegmentEntry => ({
  group: `g${String(name % 7)}.example.com`,
  kind: `Kind${name}`,
  digest: sha256(`${name} ${content}`),
  bytes,
});

function split(entries: readonly SegmentEntry[]): Segment[] {
  const splitter = new SegmentSplitter();
  const segments = entries.flatMap((one) => splitter.add(one) ?? []);
  return [...segments, ...[splitter.end() ?? []].flat()];
}

const sorted = (entries: Iterable<SegmentEntry>) => [...entries].sort(compareFunctionNames);
const summary = (segments: readonly Segment[]) =>
  segments.map(({ group, kind, digest }) => `${group}/${kind} ${digest}`);

/** Splits only the changed parts, like a build. */
function splitAgain(
  before: readonly Segment[],
  after: readonly SegmentEntry[],
  changed: readonly SegmentEntry[],
): { segments: Segment[]; read: number } {
  const ranges = rangesToSplit(before, changed);
  const kept = before.filter((segment) => !ranges.some((range) => isInRange(segment, range)));
  const parts = ranges.map((range) => after.filter((one) => isInRange(one, range)));
  const made = parts.flatMap(split);
  return {
    segments: [...kept, ...made].sort(compareFunctionNames),
    read: parts.reduce((sum, part) => sum + part.length, 0),
  };
}

describe('segments', () => {
  it('contain every entry once, in order, and few enough', () => {
    const entries = sorted(Array.from({ length: 5_000 }, (_, at) => entry(at, 0)));
    const segments = split(entries);
    expect(segments.flatMap((segment) => segment.entries)).toEqual(entries);
    for (const { entries: held } of segments) expect(held.length).toBeLessThanOrEqual(128);
    const average = entries.length / segments.length;
    expect(average).toBeGreaterThan(16);
    expect(average).toBeLessThan(64);
  });

  it('are limited in bytes, and a larger entry is alone', () => {
    const large = sorted(
      Array.from({ length: 50 }, (_, at) => entry(at, 0, at % 5 === 0 ? 2_000_000 : 300_000)),
    );
    for (const { entries: held } of split(large)) {
      const bytes = held.reduce((sum, one) => sum + one.bytes, 0);
      expect(held.length === 1 || bytes <= 524_288, `${held.length} entries, ${bytes} bytes`).toBe(true);
    }
    expect(split([])).toEqual([]);
  });

  it('have the same digest in other catalogs with the same entries', () => {
    const all = sorted(Array.from({ length: 2_000 }, (_, at) => entry(at, 0)));
    const some = all.filter(({ group }) => group.startsWith('g3'));
    const known = new Set(split(all).map(({ digest }) => digest));
    const shared = split(some).filter(({ digest }) => known.has(digest));
    expect(shared.length).toBeGreaterThan(split(some).length / 2);
  });

  it.each(Array.from({ length: 60 }, (_, seed) => seed))(
    'are the same after changes as for the whole catalog (seed %i)',
    (seed) => {
      const random = new Random(seed);
      const names = 1 + random.below(seed % 3 === 0 ? 20 : 1_500);
      const bytes = () => (random.chance(0.05) ? random.below(3_000_000) : 1 + random.below(9_000));
      const held = new Map<number, SegmentEntry>();
      for (let name = 0; name < names; name++) {
        if (random.chance(0.7)) held.set(name, entry(name, 0, bytes()));
      }
      let segments = split(sorted(held.values()));
      for (let step = 1; step < 8; step++) {
        const changed: SegmentEntry[] = [];
        const boundaries = [...held].filter(([, one]) => beginsSegment(one));
        for (let count = random.below(seed % 5 === 0 ? 200 : 4); count >= 0; count--) {
          const at =
            boundaries.length > 0 && random.chance(0.3) ? random.pick(boundaries)[0] : random.below(names);
          const next = entry(at, step, bytes());
          changed.push(next);
          if (held.has(at) && random.chance(0.5)) held.delete(at);
          else held.set(at, next);
        }
        const after = sorted(held.values());
        const again = splitAgain(segments, after, changed);
        expect(summary(again.segments)).toEqual(summary(split(after)));
        segments = again.segments;
      }
    },
  );

  it('are split again only around a change', () => {
    const entries = sorted(Array.from({ length: 20_000 }, (_, at) => entry(at, 0)));
    const segments = split(entries);
    const [changed] = entries.slice(10_000);
    const { read } = splitAgain(segments, entries, [{ ...changed!, digest: sha256('other') }]);
    expect(read).toBeLessThan(1_000);
  });
});
