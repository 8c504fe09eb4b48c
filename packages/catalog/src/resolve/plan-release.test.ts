import { sha256 } from '@krmhub/schema';
import { compareReleases } from '@krmhub/schema/release';
import { Random } from '@krmhub/yaml/testing/random';
import semver from 'semver';
import { describe, expect, it } from 'vitest';
import { type HistoryRelease, planRelease, type ReleasePlanInput } from './plan-release.js';

const NOW = new Date('2030-01-10T00:00:00Z');
const HOUR = 3_600_000;
const DAY = { seconds: 86_400, text: '24h' };

const before = (hours: number) => new Date(NOW.getTime() - hours * HOUR).toISOString();
const of = (release: string, more: Partial<HistoryRelease> = {}): HistoryRelease => ({
  release,
  definition: sha256(release),
  serial: 1,
  publishedAt: before(100),
  ...more,
});

function plan(releases: readonly HistoryRelease[], more: Partial<ReleasePlanInput> = {}) {
  const current = releases[0] ?? of('9.9.9');
  return planRelease({
    rule: {},
    current,
    takenDown: [],
    ignoresAge: false,
    releases,
    now: NOW,
    ...more,
  });
}

const chosen = (result: ReturnType<typeof plan>) =>
  result.type === 'chosen' ? result.release.release : result.type;

describe('planRelease', () => {
  it.each([1, 2, 3, 4])('chooses the maximum of what is allowed (seed %i)', (seed) => {
    const random = new Random(seed);
    const counts = { chosen: 0, none: 0, older: 0 };
    const part = () => random.below(3);
    for (let run = 0; run < 1_500; run += 1) {
      const names = new Set(
        Array.from({ length: 1 + random.below(9) }, () => {
          const suffix = random.chance(0.2) ? `-rc.${part()}` : '';
          return `${part()}.${part()}.${part()}${suffix}`;
        }),
      );
      const releases = random.shuffled([...names]).map((release) =>
        of(release, {
          publishedAt: before(random.below(48)),
          ...(random.chance(0.2) && { yanked: 'broken' }),
          ...(random.chance(0.2) && { serial: undefined as never }),
        }),
      );
      const everything = [...names, '1.1.1'];
      const current = of(random.pick(everything));
      const range = random.pick([
        undefined,
        '~1.1',
        '^1',
        '*',
        '>=0.2, <2',
        '1.x || ^2',
        '~1.0.0-rc.1',
        '=1.1.1',
      ]);
      const minAge = random.chance(0.5) ? DAY : undefined;
      const ignoresAge = random.chance(0.2);
      const locked = random.chance(0.4) ? random.pick(everything) : undefined;
      const result = plan(releases, {
        current,
        rule: { ...(range && { range }), ...(minAge && { minAge }) },
        ignoresAge,
        ...(locked && { locked }),
      });
      const accepts = (release: string) =>
        range === undefined || semver.satisfies(release, range.replaceAll(',', ' '));
      const allowed = releases
        .filter(({ release }) => accepts(release) && semver.lte(release, current.release))
        .filter(({ yanked, serial }) => yanked === undefined && serial !== undefined)
        .filter(
          ({ release, publishedAt }) =>
            minAge === undefined ||
            ignoresAge ||
            release === locked ||
            Date.parse(publishedAt) + 24 * HOUR <= NOW.getTime(),
        )
        .map(({ release }) => release)
        .sort(semver.rcompare);
      const [best] = allowed;
      counts[result.type] += 1;
      if (result.type === 'older') {
        expect(names.has(locked!)).toBe(false);
        expect(compareReleases(best!, locked!)).toBeLessThan(0);
        continue;
      }
      expect([chosen(result), range, current.release]).toEqual([best ?? 'none', range, current.release]);
      if (result.type !== 'chosen') continue;
      // An upgrade goes back only if the registry took the locked release back.
      const isBack =
        locked !== undefined &&
        accepts(locked) &&
        semver.lt(best!, locked) &&
        semver.lte(locked, current.release);
      if (isBack)
        expect(releases.find(({ release }) => release === locked)).toSatisfy(
          (one: HistoryRelease) => one.yanked !== undefined || one.serial === undefined,
        );
      for (const { release } of result.young) expect(semver.gt(release, best!)).toBe(true);
    }
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
  });

  it('does not depend on the order of the history', () => {
    const releases = ['1.10.0', '1.9.0', '1.2.0', '0.1.0'].map((release) => of(release));
    expect(chosen(plan(releases))).toBe('1.10.0');
    expect(chosen(plan(releases.toReversed(), { current: of('1.10.0') }))).toBe('1.10.0');
  });

  it('takes a pre-release only if the range names one', () => {
    const releases = [of('1.2.0-rc.2'), of('1.1.0')];
    expect(chosen(plan(releases, { rule: { range: '^1' } }))).toBe('1.1.0');
    expect(chosen(plan(releases, { rule: { range: '^1.2.0-rc.1' } }))).toBe('1.2.0-rc.2');
    expect(chosen(plan(releases, { rule: { range: '~1.2' } }))).toBe('none');
    expect(chosen(plan(releases, { rule: { minAge: DAY } }))).toBe('1.2.0-rc.2');
  });

  it('says when a release is old enough, to the second', () => {
    const releases = [of('1.2.0', { publishedAt: before(24 - 5) }), of('1.1.0', { publishedAt: before(24) })];
    const result = plan(releases, { rule: { minAge: DAY } });
    expect(chosen(result)).toBe('1.1.0');
    expect(result.young).toEqual([{ release: '1.2.0', oldEnoughAt: '2030-01-10T05:00:00Z' }]);
    expect(plan(releases, { rule: { minAge: DAY }, ignoresAge: true })).toMatchObject({
      type: 'chosen',
      release: { release: '1.2.0' },
      isYoung: true,
      young: [],
    });
    const exact = [of('1.1.0', { publishedAt: new Date(NOW.getTime() - 24 * HOUR + 1).toISOString() })];
    expect(chosen(plan(exact, { rule: { minAge: DAY } }))).toBe('none');
  });

  it.each(['', 'yesterday', '+999999-01-01T00:00:00Z', '-271821-04-20T00:00:00.000Z'])(
    'takes no time from a registry that is none: %j',
    (publishedAt) => {
      const result = plan([of('1.1.0', { publishedAt })], { rule: { minAge: DAY } });
      expect(chosen(result)).toBe(publishedAt.startsWith('-') ? '1.1.0' : 'none');
    },
  );

  it('says why nothing can be used', () => {
    const releases = [
      of('1.3.0'),
      of('1.2.3', { publishedAt: before(1) }),
      of('1.2.2', { yanked: 'broken' }),
      { release: '1.2.1', definition: sha256('x'), publishedAt: before(100) },
    ];
    expect(plan(releases, { rule: { range: '~1.2', minAge: DAY } })).toMatchObject({
      type: 'none',
      inRange: [
        { release: '1.2.3', reason: 'too new: old enough at 2030-01-10T23:00:00Z' },
        { release: '1.2.2', reason: 'yanked: broken' },
        { release: '1.2.1', reason: 'in no snapshot that can be read' },
      ],
    });
  });

  it('does not go back behind the locked release, unless that was taken back', () => {
    const locked = { locked: '1.2.0', current: of('1.3.0'), rule: { range: '~1.2 || ~1.1' } };
    expect(plan([of('1.1.0')], locked)).toMatchObject({ type: 'older', release: '1.1.0', locked: '1.2.0' });
    expect(chosen(plan([of('1.1.0')], { ...locked, takenDown: ['1.2.0'] }))).toBe('1.1.0');
    expect(chosen(plan([of('1.2.0', { yanked: 'x' }), of('1.1.0')], locked))).toBe('1.1.0');
    // The range, or the catalog itself, went back.
    expect(chosen(plan([of('1.1.0')], { ...locked, rule: { range: '~1.1' } }))).toBe('1.1.0');
    expect(chosen(plan([of('1.1.0')], { ...locked, current: of('1.1.0') }))).toBe('1.1.0');
    // Its age was judged when it was locked.
    const young = [of('1.2.0', { publishedAt: before(1) }), of('1.1.0')];
    expect(chosen(plan(young, { ...locked, rule: { ...locked.rule, minAge: DAY } }))).toBe('1.2.0');
  });
});
