import {
  type BlobStore,
  type CatalogReader,
  type Event,
  evaluateCopy,
  type FunctionReader,
  folderReading,
  followsRegistryPolicies,
  type KnownGroup,
  lookAlikeWarnings,
  ownedNames,
  type PolicyReader,
  type PollOutcome,
  pickReading,
  planRefresh,
  policyKeys,
  type Recipe,
  type RecipeSource,
  type Refusal,
  type RenderedEntry,
  RevisionConflict,
  readingDigest,
  readUpstreamAddress,
  requiredSignatures,
  type SigningPolicy,
  type SnapshotStore,
  type SourceCopy,
  type SourceRecord,
  type SourceRefresh,
  type SourceStore,
  signedCatalogName,
  type UpstreamCatalog,
  type UpstreamEntryName,
} from '@krmhub/catalog';
import { KrmhubError, type SourceWarning, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { TrustedRoot } from '@krmhub/signing';
import { type FetchedCatalog, SourceFailure, type SourceFetcher } from '@krmhub/sources';
import { storedRecipe } from '../catalogs/stored-recipe.js';
import { SERVER_LIMITS } from '../limits.js';
import { retryOnConflict } from '../store/retry-on-conflict.js';
import { type StoredAccess, storedAccess } from '../store/stored-access.js';
import { storedPolicies } from '../store/stored-policies.js';
import type { RwLock } from '../workers/locks/rw-lock.js';
import type { UpstreamReader } from './upstream-reader.js';
import { verifyCopy } from './verify-copy.js';

export interface RefreshDeps {
  store: SourceStore & CatalogReader & SnapshotStore & PolicyReader & StoredAccess & FunctionReader;
  /** Copies of upstream catalogs, as they were fetched. */
  copies: BlobStore;
  /** Locked for reading while a copy is stored and then the row that names it. */
  copiesLock: RwLock;
  fetcher: Pick<SourceFetcher, 'fetch'>;
  reader: Pick<UpstreamReader, 'read' | 'warm'>;
  root: TrustedRoot;
  clock: () => Date;
  /** Returns a number from 0 to 1. */
  random: () => number;
}

/** Result of a sync. */
export interface RefreshResult {
  record: SourceRecord;
  /** Absent if nothing changed. */
  event?: Event;
  /** Whether it was the first sync since the recipe was applied; the catalog waits for that one. */
  isFirstSync: boolean;
  outcome: PollOutcome['outcome'] | Refusal['problem'];
}

/**
 * Syncs a source, and stores its catalog if that may follow the last good copy. Returns undefined if the recipe no
 * longer has the source. Rejects only if the registry itself fails; an upstream failure is part of the result.
 */
export function refreshSource(
  deps: RefreshDeps,
  name: { catalog: string; source: string },
  signal: AbortSignal,
): Promise<RefreshResult | undefined> {
  return retryOnConflict(() => refreshOnce(deps, name, signal), {
    attempts: SERVER_LIMITS.refreshAttempts,
    exhausted() {
      const message = `source ${name.source} of catalog ${name.catalog}: concurrent update`;
      throw new KrmhubError('unavailable', message);
    },
  });
}

async function refreshOnce(
  deps: RefreshDeps,
  { catalog, source }: { catalog: string; source: string },
  signal: AbortSignal,
): Promise<RefreshResult | undefined> {
  const { store, clock } = deps;
  const record = await store.source(catalog, source);
  const applied = await store.catalog(catalog);
  if (record === undefined || applied === undefined) return undefined;
  const recipe = storedRecipe(applied);
  const policies = await recipePolicies(store, recipe);
  const upstream = findUpstream(recipe, record);
  const known = await store.sourceEntries(catalog, source);
  const result = await pollSource(deps, { record, upstream, policies, known }, signal);
  signal.throwIfAborted();
  const { outcome } = result;
  const refresh = planRefresh({
    record,
    upstream,
    policies,
    known,
    outcome,
    warnings: await findWarnings(store, outcome),
    now: clock().toISOString(),
    jitter: deps.random(),
  });
  const event = await deps.copiesLock.read(async () => {
    if (result.bytes !== undefined) await deps.copies.put(result.bytes);
    return storeRefresh(store, refresh, result.rendered);
  });
  return {
    record: refresh.record,
    ...defined({ event }),
    isFirstSync: record.checkedAt === undefined,
    outcome: outcome.outcome === 'failed' ? outcome.problem : outcome.outcome,
  };
}

/** Returns warnings about a fetched catalog. They name public groups that the registry has now, or that have an owner. */
async function findWarnings(store: RefreshDeps['store'], outcome: PollOutcome): Promise<SourceWarning[]> {
  if (outcome.outcome !== 'fetched') return [];
  const { entries, unchanged = [] } = outcome;
  const groups = [...entries, ...unchanged].map(({ group }) => group);
  const rules = await storedAccess(store);
  const known = [
    ...ownedNames(rules.document.groups, rules.claims),
    ...(await store.groups()).map((group) => ({ group, by: group })),
  ];
  const isPublic = ({ group, by }: KnownGroup) =>
    [group, by].every((name) => rules.visibilityOf(name) === 'public');
  return lookAlikeWarnings(groups, known.filter(isPublic));
}

/** Stores the last rendered entries, in one transaction with the refresh unless that is large. */
async function storeRefresh(
  store: RefreshDeps['store'],
  refresh: SourceRefresh,
  rendered: readonly RenderedEntry[],
): Promise<Event | undefined> {
  // The refresh is not committed without its entries.
  const stored = rendered.length === 0 ? undefined : store.storeEntries(rendered);
  const [event] = await Promise.all([store.commitRefresh(refresh), stored]);
  return event;
}

/** Returns the source in the recipe. Throws if a recipe that was applied meanwhile changed or removed it. */
function findUpstream(recipe: Recipe, { catalog, source, url }: SourceRecord): UpstreamCatalog {
  const isMeant = (one: RecipeSource) => one.name === source && one.catalog?.url === url;
  const upstream = recipe.sources.find(isMeant)?.catalog;
  if (upstream === undefined) {
    throw new RevisionConflict(`the recipe of catalog ${catalog} has no source ${source} with URL ${url}`);
  }
  return upstream;
}

/** Returns whose signatures the recipe requires, so which keys a signature of a source is verified with. */
async function recipePolicies(store: PolicyReader, recipe: Recipe): Promise<readonly SigningPolicy[]> {
  const ofRegistry = followsRegistryPolicies(recipe) ? (await storedPolicies(store)).policies : [];
  return requiredSignatures(recipe, ofRegistry);
}

interface PollResult {
  outcome: PollOutcome;
  /** Bytes of a copy that differs from the previous one. */
  bytes?: Uint8Array;
  /** The new entries that are not stored yet. */
  rendered: RenderedEntry[];
}

/** State of a source before the sync. */
interface Known {
  record: SourceRecord;
  /** The source in the recipe. */
  upstream: UpstreamCatalog;
  policies: readonly SigningPolicy[];
  known: readonly UpstreamEntryName[];
}

async function pollSource(deps: RefreshDeps, before: Known, signal: AbortSignal): Promise<PollResult> {
  const { record, upstream, policies } = before;
  const read = readUpstreamAddress(upstream);
  if (!read.ok) return failed({ problem: 'forbidden-address', message: read.reason });
  const storedBytes = await storedCopy(deps.copies, record.copy);
  if (record.failure === undefined) deps.reader.warm();
  let fetched: FetchedCatalog;
  try {
    fetched = await deps.fetcher.fetch({
      address: read.address,
      // If the local copy is lost, the whole catalog is fetched again.
      ...defined({
        validators:
          storedBytes === undefined || record.copy?.formerUrl !== undefined
            ? undefined
            : record.copy!.validators,
      }),
      bundles: policies.length > 0,
      ...folderReading(upstream),
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SourceFailure)) throw error;
    const { problem, message, retryAfterMilliseconds = 0 } = error;
    return failed({ problem, message }, retryAfterMilliseconds / 1_000);
  }
  const bytes = fetched.bytes ?? storedBytes;
  if (bytes === undefined) {
    return failed({ problem: 'bad-answer', message: 'unexpected response 304 Not Modified' });
  }
  return evaluateFetched(deps, before, fetched, { bytes, storedBytes });
}

async function evaluateFetched(
  { store, root, reader, clock }: RefreshDeps,
  { record, upstream, policies, known }: Known,
  { bundles, validators, manifest }: FetchedCatalog,
  { bytes, storedBytes }: { bytes: Uint8Array; storedBytes: Uint8Array | undefined },
): Promise<PollResult> {
  const digest = sha256(bytes);
  const copy = { bytes, digest, ...defined({ manifest }) };
  const found = await verifyCopy(bundles, copy, { keys: policyKeys(policies), root });
  const now = clock().toISOString();
  // The signature is checked before the content is read: unsigned content may be hostile.
  const judged = evaluateCopy({ record, name: signedCatalogName(upstream), policies, digest, found, now });
  if ('refused' in judged) return failed(judged.refused);
  const { accepted } = judged;
  const isReadAlike = record.copy?.reading === readingDigest(upstream);
  if (storedBytes !== undefined && isReadAlike && digest === record.copy?.digest) {
    return { outcome: { outcome: 'unchanged', validators, accepted }, rendered: [] };
  }
  const read = await reader.read({
    bytes,
    digest,
    file: record.source,
    source: `${record.catalog}/${record.source}`,
    known,
    reading: pickReading(upstream),
    copy: storedBytes && { digest: record.copy!.digest, bytes: storedBytes },
    onRendered: (some) => store.storeEntries(some),
  });
  if ('refused' in read) return failed(read.refused);
  const { rendered, ...contents } = read;
  const size = bytes.byteLength;
  return {
    outcome: { outcome: 'fetched', digest, size, validators, accepted, ...contents },
    bytes,
    rendered,
  };
}

function failed(refusal: Refusal, retryAfterSeconds = 0): PollResult {
  return { outcome: { outcome: 'failed', ...refusal, retryAfterSeconds }, rendered: [] };
}

/** Returns the bytes of the last good copy; undefined if they are missing or damaged. */
async function storedCopy(copies: BlobStore, copy: SourceCopy | undefined): Promise<Uint8Array | undefined> {
  if (copy === undefined) return undefined;
  try {
    return await copies.get(copy.digest);
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'internal') return undefined;
    throw error;
  }
}
