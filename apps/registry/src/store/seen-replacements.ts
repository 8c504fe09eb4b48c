import type { DeprecationRecord, FunctionRecord, ServedEntryReader } from '@krmhub/catalog';
import { type Replacement, replacementReason } from '@krmhub/schema';
import type { Sight } from './sight.js';

/**
 * What readers are told to use instead of a deprecated release. It can be hidden later than the release was deprecated,
 * so that this is decided for each read.
 */

/** In place of a reason that only names a replacement. */
const HIDDEN_REPLACEMENT = 'no reason is given';

interface Mark {
  reason?: string;
  replacement?: Replacement;
}

/** The store without anything hidden. */
type ServingStore = Pick<ServedEntryReader, 'servingCatalogs'>;
type Sees = (replacement: Replacement) => boolean;

/** Returns the marks without replacements that the actor may not read. */
export async function seenMarks<One extends Mark>(
  store: ServingStore,
  marks: readonly One[],
  sight: Sight,
): Promise<One[]> {
  const sees = await seenReplacements(store, marks, sight);
  return marks.map((mark) => seenMark(mark, sees));
}

/** As `seenMarks`, for releases, or for whatever has their deprecation. */
export async function seenReleases<Release extends { deprecated?: DeprecationRecord }>(
  store: ServingStore,
  releases: readonly Release[],
  sight: Sight,
): Promise<Release[]> {
  const sees = await seenReplacements(store, deprecations(releases), sight);
  return releases.map((release) => seenRelease(release, sees));
}

/** Returns functions as they are stored, which are remembered by that, unless something of them is hidden. */
export async function seenFunctions(
  store: ServingStore,
  functions: readonly FunctionRecord[],
  sight: Sight,
): Promise<FunctionRecord[]> {
  const marks = functions.flatMap(({ releases }) => deprecations(releases));
  const sees = await seenReplacements(store, marks, sight);
  return functions.map((fn) => {
    const releases = fn.releases.map((release) => seenRelease(release, sees));
    return releases.every((release, at) => release === fn.releases[at]) ? fn : { ...fn, releases };
  });
}

/**
 * Returns which replacements of these marks the actor may read. A function that only catalogs have is known to the readers
 * of one of them.
 */
async function seenReplacements(store: ServingStore, marks: readonly Mark[], sight: Sight): Promise<Sees> {
  const readable = new Map<string, Replacement>();
  for (const { replacement } of marks) {
    if (replacement !== undefined && sight.function(replacement))
      readable.set(keyOf(replacement), replacement);
  }
  const hasHiddenCatalogs = sight.rules.document.catalogs.some(({ visibility }) => visibility !== 'public');
  if (readable.size > 0 && hasHiddenCatalogs && !sight.everything()) {
    const names = [...readable.values()];
    for (const [at, catalogs] of (await store.servingCatalogs(names)).entries()) {
      if (catalogs?.some(sight.catalog) === false) readable.delete(keyOf(names[at]!));
    }
  }
  return (replacement) => readable.has(keyOf(replacement));
}

function keyOf({ group, kind }: Replacement): string {
  return `${group}/${kind.toLowerCase()}`;
}

function deprecations(releases: readonly { deprecated?: DeprecationRecord }[]): DeprecationRecord[] {
  return releases.flatMap(({ deprecated }) => deprecated ?? []);
}

function seenMark<One extends Mark>(mark: One, sees: Sees): One {
  const { replacement, ...rest } = mark;
  if (replacement === undefined || sees(replacement)) return mark;
  // The reason has the kind as the request spelled it.
  const isGiven = rest.reason?.toLowerCase() !== replacementReason(replacement).toLowerCase();
  return (isGiven ? rest : { ...rest, reason: HIDDEN_REPLACEMENT }) as One;
}

function seenRelease<Release extends { deprecated?: DeprecationRecord }>(
  release: Release,
  sees: Sees,
): Release {
  const { deprecated } = release;
  const seen = deprecated && seenMark(deprecated, sees);
  return seen === deprecated ? release : { ...release, deprecated: seen };
}
