import type { CatalogInputs } from '@krmhub/api/export-model';
import { ROUTES } from '@krmhub/api/routes';
import type {
  AccessReader,
  CatalogRecord,
  EntryReader,
  Event,
  EventStore,
  OwnerClaimReader,
  PolicyReader,
  SnapshotStore,
  SourceReader,
  SourceRecord,
  SourceStore,
  UpstreamCandidates,
} from '@krmhub/catalog';
import { followsRegistryPolicies, reportSource } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { storedRecipe } from '../catalogs/stored-recipe.js';
import type { Authority } from '../http/auth/authorize.js';
import { authorize } from '../http/auth/authorize.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { LineStreams } from '../http/line-stream.js';
import { SERVER_LIMITS } from '../limits.js';
import { findCatalog } from '../store/find-record.js';
import type { StoredAccess } from '../store/stored-access.js';

type InputStore = SourceReader & EntryReader;

/** Only administrators may read the inputs: the entries of an upstream catalog may be private. */
interface CatalogInputsDeps extends Authority {
  store: Authority['store'] &
    SnapshotStore &
    SourceStore &
    EventStore &
    PolicyReader &
    AccessReader &
    OwnerClaimReader;
}

export function catalogInputsRoute(app: RegistryApp, deps: CatalogInputsDeps): void {
  const { store } = deps;
  const streams = new LineStreams();
  serveRoute(app, ROUTES.catalogInputs, async (c, { params }) => {
    await authorize(c, deps, 'admin');
    const catalog = await findCatalog(store, params.name);
    const sources = await store.sources(catalog.name);
    // Read before the events: what is applied in between is one of them.
    const policies = followsRegistryPolicies(storedRecipe(catalog))
      ? ((await store.policies())?.text ?? '')
      : undefined;
    const access = deps.access.rules.hidesAnything ? await exportedAccess(store) : undefined;
    const since = await store.events(catalog.throughEvent, MAX_SINCE);
    const head = {
      ...describeInputs(catalog, sources, isSettled(since)),
      ...defined({ policies, access }),
    };
    return streams.respond(c, () => inputsText(store, head));
  });
}

async function exportedAccess(store: StoredAccess): Promise<NonNullable<CatalogInputs['access']>> {
  const claims = (await store.ownerClaims()).map(({ group, team, proof }) => ({ group, team, proof }));
  return { claims, ...defined({ document: (await store.access())?.text }) };
}

/** Events to examine at most. If there are more, one of them changes the catalog. */
const MAX_SINCE = 1_000;

/** A built snapshot is an event too, but it does not change a catalog. */
function isSettled(since: readonly Event[]): boolean {
  return since.length < MAX_SINCE && since.every(({ type }) => type === 'catalog.cut');
}

function describeInputs(
  { name, recipe, clock, throughEvent, newest }: CatalogRecord,
  sources: readonly SourceRecord[],
  settled: boolean,
): CatalogInputs {
  const isServed = newest !== undefined && newest.withdrawn === undefined;
  return {
    catalog: name,
    recipe,
    clock,
    throughEvent,
    settled,
    ...defined({
      snapshot: isServed
        ? { serial: newest.serial, previous: newest.previous, digests: newest.digests }
        : undefined,
    }),
    sources: sources.map((record) => {
      // A client that has the copy finds these in it.
      const { invalid, invalidEntries, completed, completedEntries, ...reported } = reportSource(record);
      const { copy } = record;
      return {
        ...reported,
        ...defined({ size: copy?.size }),
        signatures: (copy?.signatures ?? []).map(({ signer, signedAt, receivedAt }) => ({
          signer,
          ...defined({ signedAt }),
          receivedAt,
        })),
      };
    }),
  };
}

async function* inputsText(store: InputStore, head: CatalogInputs): AsyncIterable<string> {
  yield `${JSON.stringify(head)}\n`;
  let batch: UpstreamCandidates[] = [];
  for await (const offers of store.allUpstreamCandidates(head.catalog)) {
    batch.push(offers);
    if (batch.length < SERVER_LIMITS.buildBatch) continue;
    yield* upstreamLines(store, batch);
    batch = [];
  }
  yield* upstreamLines(store, batch);
}

async function* upstreamLines(
  store: InputStore,
  batch: readonly UpstreamCandidates[],
): AsyncIterable<string> {
  const all = batch.flatMap(({ candidates: offers }) =>
    [...offers].flatMap(([source, entries]) => entries.map((entry) => ({ source, entry }))),
  );
  const former = all.filter(({ entry }) => entry.goneAt !== undefined);
  const rendered = await store.entries([...new Set<Digest>(former.map(({ entry }) => entry.definition))]);
  for (const { source, entry } of all) {
    const { group, kind, definition, firstSeen, goneAt } = entry;
    const line = JSON.stringify({
      source,
      group,
      kind,
      definition,
      firstSeen,
      ...defined({ goneAt: goneAt || undefined }),
    });
    // `rendered` is JSON already.
    yield goneAt === undefined
      ? `${line}\n`
      : `${line.slice(0, -1)},"entry":${rendered.get(definition)!.json}}\n`;
  }
}
