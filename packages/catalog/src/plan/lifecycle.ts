import type { Replacement } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type {
  FunctionChange,
  FunctionRecord,
  LifecycleRecord,
  NewEvent,
  ReleaseRecord,
  ReleaseSummary,
  Time,
} from '../ports/records.js';
import { displayedRelease, searchDocument } from './displayed-release.js';

export type LifecycleAction = 'yank' | 'unyank' | 'deprecate' | 'undeprecate';

export interface LifecycleInput {
  current: FunctionRecord;
  /** The release to change. */
  release: ReleaseRecord;
  /** The record of the release that `displayedReleaseAfter(current, action, release.release)` returns. */
  displayed: ReleaseRecord;
  /** The reason, which is also in the event. */
  reason: string;
  /** What to use instead; only for a deprecation. `checkReplacement` accepted it. */
  replacement?: Replacement;
  now: Time;
  by: string;
}

export type LifecyclePlan =
  | { outcome: 'changed'; change: FunctionChange }
  | { outcome: 'unchanged'; release: ReleaseRecord };

/**
 * Returns the displayed release after the change. The caller reads its record for the plan. Throws a RangeError if the
 * function does not have this release.
 */
export function displayedReleaseAfter(
  current: FunctionRecord,
  action: LifecycleAction,
  release: string,
): string {
  return displayedRelease(releasesAfter(current, action, release)).release;
}

/**
 * Plans to yank a release: catalogs exclude it, and its bytes stay. The same reason again changes nothing, and another
 * reason replaces it.
 */
export function planYank(input: LifecycleInput): LifecyclePlan {
  if (input.release.yanked?.reason === input.reason) return { outcome: 'unchanged', release: input.release };
  return planChange('yank', input, { ...input.release, yanked: lifecycleRecord(input) }, 'release.yanked');
}

export function planUnyank(input: LifecycleInput): LifecyclePlan {
  if (input.release.yanked === undefined) return { outcome: 'unchanged', release: input.release };
  const { yanked: _, ...release } = input.release;
  return planChange('unyank', input, release, 'release.unyanked');
}

/** Plans to deprecate a release, which stays in catalogs. Repeating it works as for a yank. */
export function planDeprecate(input: LifecycleInput): LifecyclePlan {
  const { release, reason, replacement } = input;
  const known = release.deprecated;
  const isSame = (['group', 'kind', 'releases'] as const).every(
    (field) => known?.replacement?.[field] === replacement?.[field],
  );
  if (known?.reason === reason && isSame) return { outcome: 'unchanged', release };
  const deprecated = { ...lifecycleRecord(input), ...defined({ replacement }) };
  return planChange('deprecate', input, { ...release, deprecated }, 'release.deprecated');
}

export function planUndeprecate(input: LifecycleInput): LifecyclePlan {
  if (input.release.deprecated === undefined) return { outcome: 'unchanged', release: input.release };
  const { deprecated: _, ...release } = input.release;
  return planChange('undeprecate', input, release, 'release.undeprecated');
}

function planChange(
  action: LifecycleAction,
  input: LifecycleInput,
  release: ReleaseRecord,
  type: NewEvent['type'],
): LifecyclePlan {
  const { current, reason, replacement, now, by } = input;
  const releases = releasesAfter(current, action, release.release);
  const expected = displayedRelease(releases).release;
  const displayed = expected === release.release ? release : input.displayed;
  if (displayed.release !== expected)
    throw new RangeError(`displayed is ${displayed.release} where ${expected} is needed`);
  const name = { group: current.group, kind: current.kind };
  return {
    outcome: 'changed',
    change: {
      ...name,
      expectedRevision: current.revision,
      action: 'update',
      release,
      search: searchDocument(name, releases, displayed),
      event: {
        type,
        at: now,
        by,
        ...name,
        release: release.release,
        digest: release.digest,
        reason,
        ...defined({ replacement }),
      },
    },
  };
}

/** Returns the summaries with the new lifecycle. Its details do not matter for the selection. */
function releasesAfter(current: FunctionRecord, action: LifecycleAction, release: string): ReleaseSummary[] {
  if (!current.releases.some((summary) => summary.release === release)) {
    throw new RangeError(`${current.group}/${current.kind} has no release ${release}`);
  }
  const mark: LifecycleRecord = { at: '', by: '', reason: '' };
  return current.releases.map((summary) => {
    if (summary.release !== release || (action !== 'yank' && action !== 'unyank')) return summary;
    const { yanked: _, ...rest } = summary;
    return action === 'yank' ? { ...rest, yanked: mark } : rest;
  });
}

function lifecycleRecord({ now, by, reason }: LifecycleInput): LifecycleRecord {
  return { at: now, by, reason };
}
