import {
  type CatalogReader,
  type CatalogRecord,
  type CatalogTombstone,
  describeTombstone,
  displayedRelease,
  type EntryReader,
  type FunctionReader,
  type FunctionRecord,
  type NameFinder,
  type ReleaseHead,
  type ReleaseRecord,
  type ServedEntry,
  type SourceReader,
  type SourceRecord,
  type TakedownReader,
} from '@krmhub/catalog';
import { type FunctionName, KrmhubError, type Takedown, type Withdrawal } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/suggest';
import { MissingName, nearText } from './missing-name.js';

/** Names that a hint lists. */
const MAX_NAMED = 5;

/** Stores for looking up a function: among releases of this registry, then among entries of its catalogs. */
export type FindStore = FunctionReader & NameFinder & EntryReader;

/** Stores for looking up a release without its definition. */
export type FindHeadStore = Omit<FindStore, 'release'> & FunctionReader;

/**
 * Returns a function, ignoring the case of its kind. Rejects with `not-found`, also if only upstream catalogs have
 * it, and with `gone` if all its releases were taken down.
 */
export async function findFunction(
  store: Omit<FindStore, 'release'>,
  { group, kind }: { group: string; kind: string },
): Promise<FunctionRecord> {
  const fn = await store.function(group, kind);
  if (fn !== undefined) return fn;
  const takedowns = await store.takedowns(group, kind);
  if (takedowns.length > 0) throw takenDownError(takedowns);
  const [served] = await store.servedEntries(group, kind);
  if (served !== undefined) throw withoutReleases(served);
  throw new MissingName(`function ${group}/${kind} not found`, await nearFunctions(store, { group, kind }));
}

/** Names similar functions. Without an answer of the search, the function is still not found. */
export async function nearFunctions(
  store: NameFinder,
  name: { group: string; kind: string },
): Promise<{ hint: string; near: FunctionName[] }> {
  const near = await store.nearFunctions({ group: name.group, kind: name.kind }).catch(() => []);
  const hint =
    near.length === 0
      ? 'Search for it with `krmhub search`.'
      : `Did you mean ${near.map(nearText).join(', or ')}?`;
  return { hint, near };
}

/**
 * Returns a release with its function. `release` is canonical. Rejects with `not-found`, and `gone` after a takedown.
 */
export async function findRelease(
  store: FindStore,
  name: { group: string; kind: string; release: string },
): Promise<{ fn: FunctionRecord; release: ReleaseRecord }> {
  const fn = await findFunction(store, name);
  const release = await store.release(fn.group, fn.kind, name.release);
  if (release !== undefined) return { fn, release };
  throw await missingRelease(store, fn, name.release);
}

/** Returns what `findRelease` returns without the definition, for reads: parsing a large one delays other requests. */
export async function findReleaseHead(
  store: FindHeadStore,
  name: { group: string; kind: string; release: string },
): Promise<{ fn: FunctionRecord; release: ReleaseHead }> {
  const fn = await findFunction(store, name);
  const { group, kind } = fn;
  const summary = fn.releases.find(({ release }) => release === name.release);
  const files = summary && (await store.releaseFiles(group, kind, summary.release));
  if (summary !== undefined && files !== undefined)
    return { fn, release: { group, kind, ...summary, ...files } };
  throw await missingRelease(store, fn, name.release);
}

async function missingRelease(
  store: TakedownReader,
  { group, kind, releases }: FunctionRecord,
  release: string,
): Promise<KrmhubError> {
  const takedown = (await store.takedowns(group, kind)).find((one) => one.release === release);
  if (takedown !== undefined) {
    const hint = `You cannot undo a takedown. Delete your copies, and use another release of ${group}/${kind}.`;
    return new MissingName(describeTombstone(takedown), {
      hint,
      near: [{ group, kind }],
      takedowns: [takedown],
    });
  }
  const names = releases.map((one) => one.release);
  const meant = suggest(release, names);
  const newest = names.slice(0, MAX_NAMED);
  const listed = `The newest releases are: ${newest.join(', ')}.`;
  return new MissingName(`${group}/${kind} has no release ${release}`, {
    hint: meant === undefined ? listed : `Did you mean ${meant}? ${listed}`,
    near: [...(meant === undefined ? [] : [meant]), ...newest].map((one) => ({ group, kind, release: one })),
  });
}

function withoutReleases({ group, kind, catalog, versions }: ServedEntry): KrmhubError {
  const source = versions.find(({ release }) => release === undefined)?.source;
  return new KrmhubError(
    'not-found',
    `this registry has no releases of ${group}/${kind}: catalog ${catalog} includes it from upstream source ${source}`,
    { hint: `Run \`krmhub show ${group}/${kind}\` to see the catalog entry.` },
  );
}

/** Returns the release of a function that search displays. It may be `atHand`. */
export async function findDisplayedRelease(
  store: FindStore,
  fn: FunctionRecord,
  atHand: ReleaseRecord,
): Promise<ReleaseRecord> {
  const { release } = displayedRelease(fn.releases);
  if (release === atHand.release) return atHand;
  return (await findRelease(store, { ...fn, release })).release;
}

/** Returns the error for a request for releases that were taken down. */
export function takenDownError(takedowns: readonly Withdrawal[]): KrmhubError {
  return new KrmhubError('gone', takedowns.map(describeTombstone).join('; '), {
    hint: 'You cannot undo a takedown. Delete your copies, and use another release.',
    takedowns: takedowns.filter((one): one is Takedown => one.group !== undefined),
  });
}

/** What looks up a catalog. */
export type CatalogLookup = CatalogReader;

/** Returns a catalog. Rejects with `not-found`, and with `gone` for a deleted one. */
export async function findCatalog(store: CatalogLookup, name: string): Promise<CatalogRecord> {
  const catalog = await store.catalog(name);
  if (catalog !== undefined) return catalog;
  const deleted = await store.deletedCatalog(name);
  if (deleted !== undefined) throw deletedError(deleted);
  const { hint, named } = namesHint(
    name,
    await store.catalogs(),
    'List the catalogs with `krmhub catalog list`.',
  );
  throw new MissingName(`catalog ${name} not found`, { hint, near: named.map((catalog) => ({ catalog })) });
}

/** Returns the error for a request for a deleted catalog. `now` says whether it can still be restored. */
export function deletedError(
  { name, at, by, reason, restorableUntil, purgedAt }: CatalogTombstone,
  now = '',
): KrmhubError {
  return new KrmhubError('gone', `catalog ${name} was deleted at ${at} by ${by}: ${reason}`, {
    hint:
      purgedAt === undefined && now < restorableUntil
        ? `Until ${restorableUntil}, an administrator can restore it: krmhub catalog restore ${name}`
        : `It could be restored until ${restorableUntil}. Use another catalog.`,
  });
}

/** Returns an upstream source of a catalog's recipe. Rejects with `not-found`. */
export async function findSource(
  store: CatalogLookup & SourceReader,
  { name, source }: { name: string; source: string },
): Promise<SourceRecord> {
  await findCatalog(store, name);
  const record = await store.source(name, source);
  if (record !== undefined) return record;
  throw new KrmhubError('not-found', `catalog ${name} has no upstream source ${source}`, {
    hint: namesHint(
      source,
      (await store.sources(name)).map((one) => ({ name: one.source })),
      `List the sources with \`krmhub source list ${name}\`.`,
    ).hint,
  });
}

/** Names the similar one, else all of a few, else says how to list them. */
export function namesHint(
  name: string,
  known: readonly { name: string }[],
  list: string,
): { hint: string; named: string[] } {
  const names = known.map((one) => one.name);
  const meant = suggest(name, names);
  if (meant !== undefined) return { hint: `Did you mean ${meant}?`, named: [meant] };
  if (names.length === 0 || names.length > MAX_NAMED) return { hint: list, named: [] };
  return { hint: `Use one of: ${names.join(', ')}.`, named: names };
}

/** Returns the stored definition of a release. Rejects with `unavailable` if it was taken down meanwhile. */
export async function definitionJson(
  store: FunctionReader,
  { group, kind, release }: { group: string; kind: string; release: string },
): Promise<Uint8Array> {
  const [json] = await store.definitionsJson([{ group, kind, release }]);
  if (json !== undefined) return json;
  throw new KrmhubError('unavailable', `${group}/${kind}@${release} was removed just now`, {
    hint: 'Try again in a few seconds.',
  });
}
