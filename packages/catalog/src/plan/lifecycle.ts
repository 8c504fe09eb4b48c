import type {
  FunctionChange,
  FunctionRecord,
  Mark,
  NewEvent,
  ReleaseRecord,
  ReleaseSummary,
  Time,
} from '../ports/records.js';
import { searchDocument, shownRelease } from './newest.js';

export type MarkAction = 'yank' | 'unyank' | 'deprecate';

export interface MarkInput {
  current: FunctionRecord;
  /** The release to mark. */
  release: ReleaseRecord;
  /** The record of the release that `shownAfter(current, action, release.release)` names. */
  shown: ReleaseRecord;
  /** Why; also kept in the event. */
  reason: string;
  now: Time;
  by: string;
}

export type MarkPlan =
  | { outcome: 'changed'; change: FunctionChange }
  | { outcome: 'unchanged'; release: ReleaseRecord };

/**
 * Name of the release that search shows once the mark is set: the caller reads its record for the plan.
 * Throws a RangeError where the function has no such release.
 */
export function shownAfter(current: FunctionRecord, action: MarkAction, release: string): string {
  return shownRelease(releasesAfter(current, action, release)).release;
}

/** Takes a release out of catalogs; its bytes stay. The same reason again changes nothing, another one replaces it. */
export function planYank(input: MarkInput): MarkPlan {
  if (input.release.yanked?.reason === input.reason) return { outcome: 'unchanged', release: input.release };
  return plan('yank', input, { ...input.release, yanked: markOf(input) }, 'release.yanked');
}

export function planUnyank(input: MarkInput): MarkPlan {
  if (input.release.yanked === undefined) return { outcome: 'unchanged', release: input.release };
  const { yanked: _, ...release } = input.release;
  return plan('unyank', input, release, 'release.unyanked');
}

/** Says that there is something better; the release stays in catalogs. Repeating is as with a yank. */
export function planDeprecate(input: MarkInput): MarkPlan {
  if (input.release.deprecated?.reason === input.reason)
    return { outcome: 'unchanged', release: input.release };
  return plan('deprecate', input, { ...input.release, deprecated: markOf(input) }, 'release.deprecated');
}

function plan(
  action: MarkAction,
  input: MarkInput,
  release: ReleaseRecord,
  type: NewEvent['type'],
): MarkPlan {
  const { current, reason, now, by } = input;
  const releases = releasesAfter(current, action, release.release);
  const expected = shownRelease(releases).release;
  const shown = expected === release.release ? release : input.shown;
  if (shown.release !== expected)
    throw new RangeError(`shown is ${shown.release} where ${expected} is needed`);
  const name = { group: current.group, kind: current.kind };
  return {
    outcome: 'changed',
    change: {
      ...name,
      expectedRevision: current.revision,
      action: 'update',
      release,
      search: searchDocument(name, releases, shown),
      event: { type, at: now, by, ...name, release: release.release, digest: release.digest, reason },
    },
  };
}

/** The summaries with the mark set; what the mark says does not matter to selection. */
function releasesAfter(current: FunctionRecord, action: MarkAction, release: string): ReleaseSummary[] {
  if (!current.releases.some((summary) => summary.release === release)) {
    throw new RangeError(`${current.group}/${current.kind} has no release ${release}`);
  }
  const mark: Mark = { at: '', by: '', reason: '' };
  return current.releases.map((summary) => {
    if (summary.release !== release || action === 'deprecate') return summary;
    const { yanked: _, ...rest } = summary;
    return action === 'yank' ? { ...rest, yanked: mark } : rest;
  });
}

function markOf({ now, by, reason }: MarkInput): Mark {
  return { at: now, by, reason };
}
