/**
 * Chooses a release of a function by the settings of its package, and reads it in the snapshot that has it.
 *
 * A registry says which snapshots of a catalog have which releases. None of that is signed: it only chooses a snapshot,
 * which is trusted as the catalog is, and whose `snapshot.json` must name the release.
 *
 * @module
 */

import { isInReleaseRange, readReleaseRange } from '@krmhub/catalog/policy/release-range';
import { planRelease, type ReleasePlan } from '@krmhub/catalog/resolve/plan-release';
import { parseFunction } from '@krmhub/catalog/resolve/plan-resolve';
import { type ReleaseRule, SETTINGS_LIMITS } from '@krmhub/catalog/settings/settings';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { compareReleases } from '@krmhub/schema/release';
import type { NamedCatalog } from '../../references/parse-catalog.js';
import { formatRelease } from '../../trust/registry-release.js';
import { onlyDigests } from '../locked/locked-entry.js';
import type { ChosenRelease } from '../resolution.js';
import type { MatchedEntry } from '../resolve-entry.js';
import type { SearchContext } from '../search-context.js';
import { type ListedRelease, type ReleaseHistory, readReleaseHistory } from './release-history.js';
import { readSnapshotEntry } from './snapshot-entry.js';

/** What a package asks of a function that was found. */
export interface ReleaseChoice {
  rule: ReleaseRule;
  /** The release that was locked. */
  locked?: string;
  ignoresAge: boolean;
}

/** Returns the entry with the release that the settings choose. Throws `not-found` if there is none. */
export async function chooseRelease(
  context: SearchContext,
  match: MatchedEntry,
  { rule, locked, ignoresAge }: ReleaseChoice,
): Promise<MatchedEntry> {
  const { origin, catalog, request } = match;
  const { range, minAge } = rule;
  requireRange(range);
  const asked = { ...defined({ range }), warnings: [] };
  const isOwn =
    origin?.release !== undefined && (range === undefined || isInReleaseRange(origin.release, range));
  if (isOwn && minAge === undefined && origin.yanked === undefined) return { ...match, chosen: asked };
  const current = origin?.release;
  if (current === undefined) {
    throw none(
      `it does not say which release it has, so ${ruleText(rule)} cannot be checked`,
      'Only releases of the registry of a catalog can be chosen. Remove the range, or add the group to `exempt` in krmhub.yaml.',
    );
  }
  const { registry } = catalog;
  const isFixed = isExact(context, catalog);
  if (registry === undefined || (isFixed && !isOwn)) {
    const reason = isOwn
      ? `only a registry says when ${current} was published, so ${ruleText(rule)} cannot be checked`
      : `it has ${current}, which is not in the range ${range}, and nothing else`;
    throw none(
      reason,
      'Use the catalog in its registry, without a digest or a snapshot, or change krmhub.yaml.',
    );
  }
  if (context.fetcher.isOffline) {
    throw new KrmhubError(
      'unavailable',
      `the releases for ${ruleText(rule)} are not in the cache, and --offline is set`,
      { hint: 'Lock the package without --offline first: krmhub lock' },
    );
  }
  const history = await readReleaseHistory(context.io, registry, request);
  const plan = planRelease({
    rule,
    current: { release: current, definition: origin!.definition },
    ...defined({ locked }),
    takenDown: history.takenDown,
    ignoresAge,
    releases: isFixed ? history.releases.filter(({ release }) => release === current) : history.releases,
    now: context.io.now(),
  });
  if (plan.type !== 'chosen') throw refusal(match, rule, plan);
  const chosen: ChosenRelease = {
    ...asked,
    warnings: [
      ...plan.young.map(
        ({ release, oldEnoughAt }) =>
          `${nameOf(match, release)} is too new for minAge ${minAge?.text}: old enough at ${oldEnoughAt}`,
      ),
      ...wentBack(match, { locked, range }, plan.release.release, history),
    ],
    ...defined({
      ignoredMinAge:
        plan.isYoung && ignoresAge && minAge !== undefined
          ? { minAge: minAge.text, publishedAt: plan.release.publishedAt }
          : undefined,
    }),
  };
  return readChosen(context, { ...match, chosen }, plan.release, history);
}

/** Throws `invalid-document` for a text that is no range: an annotation is not checked when it is read. */
export function requireRange(range: string | undefined): void {
  if (range === undefined) return;
  const { maxSettingLength } = SETTINGS_LIMITS;
  const read =
    range.length > maxSettingLength
      ? { ok: false as const, reason: `the range has more than ${maxSettingLength} characters` }
      : readReleaseRange(range);
  if (read.ok) return;
  throw new KrmhubError('invalid-document', `krmhub.dev/release: ${read.reason}`, {
    hint: ('hint' in read ? read.hint : undefined) ?? 'Use an npm SemVer range such as ~1.2.',
  });
}

/** Reports whether only certain bytes of a catalog may be used, so that it has no other snapshots. */
function isExact({ trust }: SearchContext, catalog: NamedCatalog): boolean {
  const { registry, digest } = catalog;
  return (
    registry?.snapshot !== undefined ||
    digest !== undefined ||
    onlyDigests(trust.grants(catalog)) !== undefined
  );
}

/** Says why a locked release of the range is followed by an older one. */
function wentBack(
  match: MatchedEntry,
  { locked, range }: { locked: string | undefined; range: string | undefined },
  release: string,
  { releases, takenDown }: ReleaseHistory,
): string[] {
  if (locked === undefined || compareReleases(release, locked) >= 0) return [];
  if (range !== undefined && !isInReleaseRange(locked, range)) return [];
  const yanked = releases.find((one) => one.release === locked)?.yanked;
  const reason = takenDown.includes(locked)
    ? 'was taken down'
    : yanked === undefined
      ? 'is no longer in the catalog'
      : `was yanked: ${yanked}`;
  return [`the locked ${nameOf(match, locked)} ${reason}; ${release} is older`];
}

async function readChosen(
  context: SearchContext,
  match: MatchedEntry & { chosen: ChosenRelease },
  wanted: ListedRelease,
  { releases }: ReleaseHistory,
): Promise<MatchedEntry> {
  const { origin, state, catalog, request } = match;
  const { release, definition } = wanted;
  if (release === origin?.release) {
    if (definition === origin.definition) return match;
    throw lie(match, `it lists ${release} as ${definition}, but the catalog has ${origin.definition}`);
  }
  const serial = wanted.serial!;
  const found = await readSnapshotEntry(context, catalog, request, serial);
  const { origin: then } = found;
  if (then?.release !== release || then.definition !== definition) {
    const actual =
      then === undefined ? 'does not have it' : `has ${then.release ?? 'no release'} as ${then.definition}`;
    throw lie(match, `it lists ${release} as ${definition} in snapshot ${serial}, which ${actual}`);
  }
  const { deprecated, replacement } = releases.find((one) => one === wanted)!;
  return {
    ...match,
    ...found,
    origin: { ...then, ...defined({ deprecated, replacement }) },
    current: state,
    chosen: { ...match.chosen, snapshot: serial },
  };
}

function refusal(
  match: MatchedEntry,
  rule: ReleaseRule,
  plan: Exclude<ReleasePlan, { type: 'chosen' }>,
): KrmhubError {
  if (plan.type === 'older') {
    const { release, locked } = plan;
    return lie(
      match,
      `it no longer lists the locked release ${locked}, and offers ${release}, which is older`,
    );
  }
  const hint =
    plan.young.length > 0
      ? 'Wait, or lock it all the same: krmhub lock PATH --ignore-min-age KIND'
      : 'Change the range in krmhub.yaml or in the annotation krmhub.dev/release.';
  return none(noReleaseText(rule, plan), hint);
}

/** Says why no release satisfies a rule. */
export function noReleaseText(
  rule: ReleaseRule,
  { inRange }: Extract<ReleasePlan, { type: 'none' }>,
): string {
  const why = inRange.map(({ release, reason }) => `${release} is ${reason}`).join('; ');
  return `no release for ${ruleText(rule)}: ${why === '' ? 'the catalog has none' : why}`;
}

/** Names what a release must satisfy. */
function ruleText({ range, minAge }: ReleaseRule): string {
  return [
    ...(range === undefined ? [] : [`the range ${range}`]),
    ...(minAge === undefined ? [] : [`minAge ${minAge.text}`]),
  ].join(' and ');
}

function nameOf({ request }: MatchedEntry, release: string): string {
  const { group, kind } = parseFunction(request);
  return formatRelease({ group, kind, release });
}

function none(message: string, hint: string): KrmhubError {
  return new KrmhubError('not-found', message, { hint });
}

function lie({ request }: MatchedEntry, message: string): KrmhubError {
  return new KrmhubError('untrusted', `its registry contradicts itself about ${request.kind}: ${message}`, {
    hint: 'Nothing was run. Ask the operator of the registry.',
  });
}
