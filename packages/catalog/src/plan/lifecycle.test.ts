import type { Replacement } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { ReleaseRecord } from '../ports/records.js';
import {
  functionDefinition,
  functionRecord,
  lifecycleRecord,
  NOW,
  releaseRecord,
} from '../testing/records.js';
import { checkReplacement } from './check-replacement.js';
import {
  displayedReleaseAfter,
  type LifecycleAction,
  planDeprecate,
  planUndeprecate,
  planUnyank,
  planYank,
} from './lifecycle.js';

const PLANS = { yank: planYank, unyank: planUnyank, deprecate: planDeprecate, undeprecate: planUndeprecate };

/** Plans as a registry does: reads the records that the plan needs by name. */
function plan(
  action: LifecycleAction,
  release: string,
  releases: ReleaseRecord[],
  reason = 'broken',
  replacement?: Replacement,
) {
  const current = functionRecord(releases, 7);
  const record = (name: string) => releases.find((one) => one.release === name)!;
  const displayed = record(displayedReleaseAfter(current, action, release));
  return PLANS[action]({
    current,
    release: record(release),
    displayed: displayed,
    reason,
    ...(replacement === undefined ? {} : { replacement }),
    now: NOW,
    by: 'bob',
  });
}

function changed(...parameters: Parameters<typeof plan>) {
  const result = plan(...parameters);
  if (result.outcome !== 'changed') throw new Error('nothing changed');
  return result.change;
}

const described = (release: string, overrides: Partial<ReleaseRecord> = {}) =>
  releaseRecord(release, functionDefinition({ description: `about ${release}` }), overrides);
const OLD = described('1.0.0');
const NEW = described('2.0.0');
const YANKED = described('2.0.0', { yanked: lifecycleRecord('broken') });

describe('a yank', () => {
  it('marks the release, emits an event, and displays the newest release that is not yanked', () => {
    expect(changed('yank', '2.0.0', [OLD, NEW])).toEqual({
      group: 'example.com',
      kind: 'SetLabels',
      expectedRevision: 7,
      action: 'update',
      release: { ...NEW, yanked: { at: NOW, by: 'bob', reason: 'broken' } },
      search: expect.objectContaining({ release: '1.0.0', description: 'about 1.0.0', yanked: false }),
      event: {
        type: 'release.yanked',
        at: NOW,
        by: 'bob',
        group: 'example.com',
        kind: 'SetLabels',
        release: '2.0.0',
        digest: NEW.digest,
        reason: 'broken',
      },
    });
  });

  it('of the last active release marks the function as yanked', () => {
    expect(changed('yank', '1.0.0', [OLD, YANKED]).search).toMatchObject({ release: '2.0.0', yanked: true });
    expect(changed('yank', '1.0.0', [OLD]).search).toMatchObject({ release: '1.0.0', yanked: true });
  });

  it('of an older release keeps the displayed release', () => {
    expect(changed('yank', '1.0.0', [OLD, NEW]).search).toMatchObject({ release: '2.0.0', yanked: false });
  });

  it('with the same reason changes nothing, and with another reason replaces it', () => {
    expect(plan('yank', '2.0.0', [OLD, YANKED])).toEqual({ outcome: 'unchanged', release: YANKED });
    expect(changed('yank', '2.0.0', [OLD, YANKED], 'worse').release.yanked?.reason).toBe('worse');
  });
});

describe('an unyank', () => {
  it('reverts the yank, and search displays the release again', () => {
    const change = changed('unyank', '2.0.0', [OLD, YANKED], 'was fine');
    expect(change.release).toEqual(NEW);
    expect(change.release).not.toHaveProperty('yanked');
    expect(change.search).toMatchObject({ release: '2.0.0', yanked: false });
    expect(change.event).toMatchObject({ type: 'release.unyanked', reason: 'was fine' });
  });

  it('of a release that is not yanked changes nothing', () => {
    expect(plan('unyank', '2.0.0', [OLD, NEW])).toEqual({ outcome: 'unchanged', release: NEW });
  });
});

describe('a deprecation', () => {
  it('marks the release, also in search if it is the displayed release', () => {
    const change = changed('deprecate', '2.0.0', [OLD, NEW], 'use Other');
    expect(change.release.deprecated).toEqual({ at: NOW, by: 'bob', reason: 'use Other' });
    expect(change.search).toMatchObject({ release: '2.0.0', deprecated: true, yanked: false });
    expect(change.event).toMatchObject({ type: 'release.deprecated', reason: 'use Other' });
    expect(changed('deprecate', '1.0.0', [OLD, NEW]).search).toMatchObject({
      release: '2.0.0',
      deprecated: false,
    });
  });

  it('keeps a yank, and is idempotent', () => {
    expect(changed('deprecate', '2.0.0', [OLD, YANKED]).release.yanked).toEqual(YANKED.yanked);
    const deprecated = described('2.0.0', { deprecated: lifecycleRecord('use Other') });
    expect(plan('deprecate', '2.0.0', [OLD, deprecated], 'use Other').outcome).toBe('unchanged');
  });
});

describe('a replacement', () => {
  const SET_ALL = { group: 'example.com', kind: 'SetAll', releases: '^2.0.0' };

  it('is in the release and in the event, and another one replaces it', () => {
    const change = changed('deprecate', '1.0.0', [OLD, NEW], 'use SetAll', SET_ALL);
    expect(change.release.deprecated).toEqual({
      at: NOW,
      by: 'bob',
      reason: 'use SetAll',
      replacement: SET_ALL,
    });
    expect(change.event.replacement).toEqual(SET_ALL);
    const again = (replacement?: typeof SET_ALL) =>
      plan('deprecate', '1.0.0', [change.release, NEW], 'use SetAll', replacement).outcome;
    expect(again({ ...SET_ALL })).toBe('unchanged');
    expect(again({ ...SET_ALL, releases: '^3.0.0' })).toBe('changed');
    expect(again()).toBe('changed');
  });

  it('is removed with the deprecation, once', () => {
    const deprecated = described('2.0.0', {
      deprecated: { ...lifecycleRecord('old'), replacement: SET_ALL },
    });
    const change = changed('undeprecate', '2.0.0', [OLD, deprecated], 'still good');
    expect(change.release).toEqual(NEW);
    expect(change.search).toMatchObject({ release: '2.0.0', deprecated: false });
    expect(change.event).toMatchObject({ type: 'release.undeprecated', reason: 'still good' });
    expect(change.event).not.toHaveProperty('replacement');
    expect(plan('undeprecate', '2.0.0', [OLD, NEW])).toEqual({ outcome: 'unchanged', release: NEW });
  });

  const SET_LABELS = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
  const OTHERS = [described('2.1.0'), described('3.0.0', { yanked: lifecycleRecord('broken') })];

  it.each([
    [SET_ALL, OTHERS],
    [{ group: 'example.com', kind: 'SetAll' }, OTHERS],
    [SET_ALL, undefined],
    [{ group: 'example.com', kind: 'SetLabels', releases: '>=2, <3' }, OTHERS],
  ])('%j fits', (replacement, releases) => {
    expect(() => checkReplacement(replacement, SET_LABELS, releases)).not.toThrow();
  });

  it.each([
    [{ ...SET_ALL, releases: 'newest' }, OTHERS, /is not a release range/],
    [{ ...SET_ALL, releases: '^3.0.0' }, OTHERS, /no release that is not yanked matches/],
    [SET_ALL, [], /no release that is not yanked matches/],
    [{ group: 'example.com', kind: 'SetLabels' }, OTHERS, /includes the deprecated release 1\.0\.0/],
    [{ group: 'example.com', kind: 'setlabels', releases: '>=1' }, OTHERS, /includes the deprecated release/],
  ])('%j does not fit', (replacement, releases, message) => {
    expect(() => checkReplacement(replacement, SET_LABELS, releases)).toThrow(message);
  });
});

describe('a plan', () => {
  it('reports an unknown release', () => {
    const current = functionRecord([OLD, NEW, described('3.0.0-rc.1')]);
    expect(displayedReleaseAfter(current, 'yank', '2.0.0')).toBe('1.0.0');
    expect(displayedReleaseAfter(functionRecord([described('3.0.0-rc.1'), OLD]), 'yank', '1.0.0')).toBe(
      '3.0.0-rc.1',
    );
    expect(displayedReleaseAfter(functionRecord([OLD, YANKED]), 'unyank', '2.0.0')).toBe('2.0.0');
    expect(() => displayedReleaseAfter(current, 'yank', '9.9.9')).toThrow(/no release 9\.9\.9/);
  });

  it('throws if the displayed release is another one', () => {
    const current = functionRecord([OLD, NEW]);
    const input = { current, release: NEW, displayed: NEW, reason: 'x', now: NOW, by: 'bob' };
    expect(() => planYank(input)).toThrow(RangeError);
  });
});
