import {
  changeKinds,
  isInReleaseRange,
  type LockedFunction,
  type PlannedUpdate,
  parseFunction,
  type ReleasePlan,
  updateSize,
} from '@krmhub/catalog';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import { noReleaseText } from '@krmhub/consume/resolve/releases/choose-release';
import { isPinned, type Resolution, type Resolver } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import type { ChangeKind } from '@krmhub/schema/documents/change-kinds';
import { formatReplacement } from '@krmhub/schema/documents/replacement';
import { KrmhubError } from '@krmhub/schema/error';
import { hidePasswords } from '@krmhub/schema/hide-passwords';
import { compareReleases } from '@krmhub/schema/release';
import { comparePinned } from '../lock/function-changes.js';
import {
  type CatalogHistories,
  changesTo,
  type FunctionHistory,
  functionPage,
  type HistoryRelease,
  planFrom,
} from './catalog-histories.js';
import type { FunctionUse } from './list-uses.js';
import type { KnownVersion, OutdatedEntry, UpdateNotice, UsePlace } from './outdated-report.js';

/** What judging needs; each function of a catalog without a history is resolved once. */
export interface JudgeContext {
  histories: CatalogHistories;
  resolve: Resolver['resolve'];
  now: Date;
  /** Remembers what could not be asked. */
  fail: (source: string, error: KrmhubError) => void;
}

/** What is found about a use, without where it is. */
export type Judged = Omit<OutdatedEntry, keyof UsePlace>;

/** Says what there is for a function of a catalog. */
export async function judgeFunction(use: FunctionUse, context: JudgeContext): Promise<Judged> {
  const { apiVersion, kind, locked, catalogs } = use;
  try {
    return { apiVersion, kind, ...(await judge(use, context)) };
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    const [first, ...others] = catalogs.map(({ text }) => hidePasswords(text));
    context.fail(first ?? `${apiVersion} ${kind}`, error);
    return {
      apiVersion,
      kind,
      ...defined({ catalog: others.length === 0 ? first : undefined }),
      state: 'unknown',
      ...defined({ locked: locked && lockedVersion(locked) }),
      notices: [],
      problem: error.message,
    };
  }
}

async function judge(use: FunctionUse, context: JudgeContext): Promise<Judged> {
  const { apiVersion, kind, locked, catalogs } = use;
  const name = parseFunction(use);
  for (const catalog of catalogs) {
    const failure = await context.histories.failure(catalog);
    if (failure !== undefined) throw failure;
    const history = await context.histories.find({ catalog, ...name });
    // Nothing is known of a catalog without a history, and of those after it, before it is read.
    if (history === undefined) return judgeResolved(use, context);
    const isKnown = locked !== undefined && (history.releases.length > 0 || history.takedowns !== undefined);
    if (isKnown || isServed(name.version, history)) return judgeHistory(use, { catalog, history }, context);
  }
  if (catalogs.length === 0) return judgeResolved(use, context);
  const searched = catalogs.map(({ text }) => `catalog ${text}`).join(', ');
  throw new KrmhubError('not-found', `${searched} does not have ${apiVersion} ${kind}`, {
    hint: 'Show similar names: krmhub explain PATH',
  });
}

async function judgeResolved(use: FunctionUse, context: JudgeContext): Promise<Judged> {
  const { apiVersion, kind, locked, catalogs } = use;
  const found = await context.resolve({ apiVersion, kind, catalogs });
  const catalog = catalogs[found.searched.length]!;
  const history = await context.histories.find({ catalog, ...parseFunction(use) });
  if (history !== undefined && locked === undefined) {
    return judgeHistory(use, { catalog, history }, context);
  }
  return judgeEntry(use, catalog, found);
}

function isServed(version: string, { releases, upstream = [] }: FunctionHistory): boolean {
  return (
    upstream.some((one) => one.version === version) ||
    releases.some(({ served }) => served.some((one) => one.version === version && one.last === undefined))
  );
}

/** Of a catalog without a history, only what it has now is known. */
function judgeEntry(
  { locked, rule, ...use }: FunctionUse,
  catalog: CatalogReference,
  found: Resolution,
): Judged {
  const { release, definition, signedBy, runtime } = found;
  const { range } = rule ?? {};
  const now: KnownVersion = defined({ release, definition });
  const isWanted = range === undefined || (release !== undefined && isInReleaseRange(release, range));
  const base = {
    catalog: catalog.text,
    ...defined({ range, locked: locked && lockedVersion(locked), wanted: isWanted ? now : undefined }),
    newest: now,
    notices: [],
  };
  if (!isWanted) {
    const problem = `the catalog has ${release ?? 'no release'}, which is not in the range ${range}`;
    return { ...base, state: locked === undefined ? 'not-locked' : 'newer', problem };
  }
  if (locked === undefined) return { ...base, state: 'not-locked' };
  const state = definition === locked.definition ? 'current' : 'behind';
  if (state === 'current' || definition === undefined || !isPinned(runtime)) return { ...base, state };
  const { apiVersion, kind } = use;
  const after: LockedFunction = {
    catalog: locked.catalog,
    apiVersion,
    kind,
    ...defined({ release, signedBy }),
    definition,
    runtime,
  };
  // Without the locked definition, a patch is not known to be one.
  const changes = changeKinds(comparePinned(locked, after)).filter((one) => one !== 'patch');
  const update = updateSize(locked.release ?? '', release ?? '') ?? 'digest';
  return {
    ...base,
    state,
    update,
    ...defined({ changes: someChanges(changes) }),
    problem: 'the catalog has no history, so schemas were not compared',
  };
}

async function judgeHistory(
  use: FunctionUse,
  { catalog, history }: { catalog: CatalogReference; history: FunctionHistory },
  { histories, now }: JudgeContext,
): Promise<Judged> {
  const { locked, rule } = use;
  const { version } = parseFunction(use);
  const upstream = history.upstream?.find((one) => one.version === version);
  if (upstream !== undefined) return judgeUpstream(use, upstream.definition, catalog);
  const plan = planFrom(histories, { catalog, history, version, locked: locked?.definition, rule, now });
  const { wanted, newest, choice } = plan;
  const taken = history.takedowns?.find(({ digest }) => digest === locked?.definition);
  const notices: UpdateNotice[] = [
    ...releaseNotices(locked === undefined ? wanted : plan.locked),
    ...(taken === undefined ? [] : [{ type: 'taken-down' as const, reason: taken.reason }]),
  ];
  const target = isBehind(locked, plan) ? wanted : newest;
  const young = choice?.young ?? [];
  return {
    catalog: catalog.text,
    ...defined({
      page: await functionPage(histories, catalog, history),
      range: rule?.range,
    }),
    state: functionState(locked, plan),
    ...defined({
      locked: locked && lockedVersion(locked, plan.locked),
      wanted: wanted && knownVersion(wanted),
      newest: newest && knownVersion(newest),
      update: locked && target && sizeOf(locked, target),
      changes: locked && someChanges(changesTo(history, { from: locked.definition, version }, target)),
    }),
    notices,
    ...defined({
      tooNew: young.length === 0 ? undefined : young,
      problem: wanted === undefined ? whyNone(use, choice) : undefined,
    }),
  };
}

/** Why no release would be locked. */
function whyNone({ apiVersion, kind, rule }: FunctionUse, choice: ReleasePlan | undefined): string {
  if (choice?.type === 'older') return `the registry no longer lists the locked release ${choice.locked}`;
  if (choice?.type !== 'none') return `the catalog has no ${apiVersion} ${kind} any more`;
  return noReleaseText(rule!, choice);
}

/** An entry of an upstream catalog has no releases: only whether it is another one is known. */
function judgeUpstream({ locked }: FunctionUse, definition: Digest, catalog: CatalogReference): Judged {
  const now: KnownVersion = { definition };
  const base = { catalog: catalog.text, wanted: now, newest: now, notices: [] };
  if (locked === undefined) return { ...base, state: 'not-locked' };
  const isSame = definition === locked.definition;
  return {
    ...base,
    locked: lockedVersion(locked),
    ...(isSame ? { state: 'current' } : { state: 'behind', update: 'digest' }),
  };
}

/** Nothing changes where nothing is newer. */
export function someChanges(kinds: ChangeKind[] | undefined): ChangeKind[] | undefined {
  return kinds?.length === 0 ? undefined : kinds;
}

function isBehind(locked: LockedFunction | undefined, plan: PlannedUpdate<HistoryRelease>): boolean {
  const { wanted } = plan;
  if (locked === undefined || wanted === undefined) return false;
  return wanted.digest !== (plan.locked?.digest ?? locked.definition);
}

function functionState(
  locked: LockedFunction | undefined,
  plan: PlannedUpdate<HistoryRelease>,
): OutdatedEntry['state'] {
  if (locked === undefined) return 'not-locked';
  if (isBehind(locked, plan)) return 'behind';
  const { newest, wanted } = plan;
  if (wanted === undefined) return 'unknown';
  const isNewer = newest !== undefined && compareReleases(newest.release, wanted.release) > 0;
  return isNewer ? 'newer' : 'current';
}

function sizeOf(locked: LockedFunction, { release, digest }: HistoryRelease): OutdatedEntry['update'] {
  if (digest === locked.definition) return undefined;
  return updateSize(locked.release ?? '', release) ?? 'digest';
}

export function releaseNotices(release: HistoryRelease | undefined): UpdateNotice[] {
  const { yanked, deprecated } = release ?? {};
  const replacement = deprecated?.replacement && formatReplacement(deprecated.replacement);
  return [
    ...(yanked === undefined ? [] : [{ type: 'yanked' as const, reason: yanked.reason }]),
    ...(deprecated === undefined
      ? []
      : [{ type: 'deprecated' as const, reason: deprecated.reason, ...defined({ replacement }) }]),
  ];
}

export function knownVersion({ release, digest, publishedAt }: HistoryRelease): KnownVersion {
  return { release, definition: digest, publishedAt };
}

function lockedVersion({ release, definition }: LockedFunction, known?: HistoryRelease): KnownVersion {
  return {
    ...defined({ release: release ?? known?.release }),
    definition,
    ...defined({ publishedAt: known?.publishedAt }),
  };
}
