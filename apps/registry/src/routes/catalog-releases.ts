import { setImmediate } from 'node:timers/promises';
import {
  type CatalogRelease,
  type CatalogReleases,
  CatalogReleasesRequest,
  type Takedown,
} from '@krmhub/api/model';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { ROUTES } from '@krmhub/api/routes';
import {
  type CatalogReader,
  type EntryReader,
  type FunctionReader,
  functionKey,
  imageReferences,
  type ReleaseSummary,
  type ServedRelease,
  type SnapshotRecord,
} from '@krmhub/catalog';
import type { Digest, FunctionDefinition, FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { LRUCache } from 'lru-cache';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { releaseSummary, type SignatureJudge } from '../http/presentation.js';
import { readJsonBody } from '../http/request-body.js';
import { SERVER_LIMITS } from '../limits.js';
import { findCatalog } from '../store/find-record.js';
import type { Derive } from '../workers/derive/derivation.js';
import { type PlannedChanges, planChanges, releaseComparer } from './release-changes.js';

interface CatalogReleasesDeps extends SignatureJudge {
  derive: Derive;
  store: CatalogReader & EntryReader & FunctionReader;
}

/** Definitions that are read before other work runs. */
const READ_AT_ONCE = 20;

type Found = CatalogReleases['functions'][number];
type ComparisonRequest = NonNullable<CatalogReleasesRequest['functions'][number]['compare']>[number];

/** The history of a catalog: which snapshots have which releases, so that a client finds one with a release. */
export function catalogReleasesRoute(app: RegistryApp, { store, trust, derive }: CatalogReleasesDeps): void {
  const images = imageReader(store);
  const compare = releaseComparer(derive);

  serveRoute(app, ROUTES.catalogReleases, async (c, { params: { name } }) => {
    const { functions: wanted } = await readJsonBody(c, CatalogReleasesRequest);
    const { newest } = await findCatalog(store, name);
    const known = new Map((await store.functions(wanted)).map((one) => [functionKey(one), one]));
    const named: { name: FunctionName; releases: readonly ReleaseSummary[]; takedowns: Takedown[] }[] = [];
    for (const [key, { group, kind }] of new Map(wanted.map((one) => [functionKey(one), one]))) {
      const takedowns = await store.takedowns(group, kind);
      const record = known.get(key);
      const spelled = record ?? takedowns[0];
      if (spelled === undefined) continue;
      const name = { group: spelled.group, kind: spelled.kind };
      named.push({ name, releases: record?.releases ?? [], takedowns });
    }
    const histories = await store.servedReleases(
      name,
      named.map((one) => one.name),
      SERVER_LIMITS.maxHistoryStates,
    );
    const comparisons = new Map<string, ComparisonRequest[]>();
    for (const { compare: asked = [], ...one } of wanted) {
      const key = functionKey(one);
      comparisons.set(key, [...(comparisons.get(key) ?? []), ...asked]);
    }
    const entries = await upstreamEntries(store, newest, wanted);
    const functions: Found[] = [];
    const planned = new Map<Found, PlannedChanges[]>();
    for (const [at, { name, releases, takedowns }] of named.entries()) {
      const { served, isAll } = histories[at]!;
      const ofRelease = servedByRelease(served);
      const taken = takedowns.filter((one) => ofRelease(one).length > 0);
      const all = releases.filter((one) => ofRelease(one).length > 0);
      if (all.length === 0 && taken.length === 0) continue;
      const shown = all.slice(0, REQUEST_LIMITS.maxHistoryReleases);
      const references = await images(name, shown);
      const upstream = entries.get(functionKey(name))?.upstream;
      entries.delete(functionKey(name));
      const isPartial = !isAll || shown.length < all.length;
      const found: Found = {
        ...name,
        releases: shown.map((one) => ({
          ...releaseSummary(trust.policies, name, one),
          ...defined({ images: references.get(one.digest) }),
          served: ofRelease(one).map(servedVersion),
        })),
        ...defined({
          takedowns: taken.length === 0 ? undefined : taken,
          upstream,
          partial: isPartial ? true : undefined,
        }),
      };
      functions.push(found);
      planned.set(found, planChanges(name, found.releases, comparisons.get(functionKey(name)) ?? []));
    }
    functions.push(
      ...[...entries.values()].map(({ name, upstream }) => ({ ...name, releases: [], upstream })),
    );
    const kinds = await compare([...planned.values()].flat());
    for (const [found, changes] of planned) {
      const known = changes.flatMap((one) => {
        const of = kinds.get(one);
        return of === undefined ? [] : { ...one.asked, kinds: of };
      });
      if (known.length > 0) found.changes = known;
    }
    const result: CatalogReleases = { catalog: name, ...defined({ serial: newest?.serial }), functions };
    return c.json(result);
  });
}

/** The API versions that a snapshot has from upstream catalogs, which have no releases. */
async function upstreamEntries(
  store: EntryReader,
  snapshot: SnapshotRecord | undefined,
  functions: readonly FunctionName[],
): Promise<Map<string, { name: FunctionName; upstream: NonNullable<Found['upstream']> }>> {
  const names = functions.map(({ group, kind }) => ({ group, kind }));
  const found: Awaited<ReturnType<typeof upstreamEntries>> = new Map();
  if (snapshot === undefined) return found;
  for (const { group, kind, versions } of await store.snapshotEntryRows(
    snapshot.catalog,
    snapshot.serial,
    names,
  )) {
    const upstream = versions.flatMap(({ name: version, source, definition, release }) =>
      release === undefined ? { version, source, definition } : [],
    );
    if (upstream.length > 0) found.set(functionKey({ group, kind }), { name: { group, kind }, upstream });
  }
  return found;
}

function servedByRelease(
  served: readonly ServedRelease[],
): (release: { release: string; digest: Digest }) => ServedRelease[] {
  const found = new Map<string, ServedRelease[]>();
  for (const one of served) {
    const key = `${one.release} ${one.definition}`;
    found.set(key, [...(found.get(key) ?? []), one]);
  }
  return ({ release, digest }) => found.get(`${release} ${digest}`) ?? [];
}

function servedVersion({
  release: _,
  definition: __,
  ...served
}: ServedRelease): CatalogRelease['served'][number] {
  return served;
}

/** Reads what the containers of releases name, once for each definition. */
function imageReader(
  store: FunctionReader,
): (name: FunctionName, releases: readonly ReleaseSummary[]) => Promise<Map<Digest, string[]>> {
  const cache = new LRUCache<Digest, string[]>({ max: SERVER_LIMITS.maxCachedReleases });
  return async (name, releases) => {
    const found = new Map<Digest, string[]>();
    const missing: ReleaseSummary[] = [];
    for (const release of releases) {
      const images = cache.get(release.digest);
      if (images !== undefined) found.set(release.digest, images);
      else if (release.size <= SERVER_LIMITS.maxHistoryDefinitionBytes) missing.push(release);
    }
    for (let start = 0; start < missing.length; start += READ_AT_ONCE) {
      await setImmediate();
      const batch = missing.slice(start, start + READ_AT_ONCE);
      const texts = await store.definitionsJson(batch.map(({ release }) => ({ ...name, release })));
      for (const [at, { digest }] of batch.entries()) {
        const text = texts[at];
        // It was taken down since its summary was read.
        if (text === undefined) continue;
        const images = imageReferences(JSON.parse(Buffer.from(text).toString()) as FunctionDefinition);
        cache.set(digest, images);
        found.set(digest, images);
      }
    }
    return found;
  };
}
