import type { CatalogInputs } from '@krmhub/api/export-model';
import { ROUTES } from '@krmhub/api/routes';
import type { CatalogRecord, CatalogStore, SourceRecord, UpstreamOffers } from '@krmhub/catalog';
import { reportedSource } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { authorise } from '../authorise.js';
import { serveRoute } from '../endpoint.js';
import type { RegistryApp, RegistryParts } from '../environment.js';
import { SERVER_LIMITS } from '../limits.js';
import { LineStreams } from '../line-stream.js';
import { foundCatalog } from '../lookup.js';

type InputStore = Pick<CatalogStore, 'allUpstreamOffers' | 'entries' | 'lastEvent' | 'sources'>;

/** For administrators: what sources elsewhere have may be for nobody else. */
export function catalogInputsRoute(app: RegistryApp, parts: RegistryParts): void {
  const { store } = parts;
  const streams = new LineStreams();
  serveRoute(app, ROUTES.catalogInputs, async (c, { params }) => {
    await authorise(c, parts, 'admin');
    const lastEvent = await store.lastEvent();
    const catalog = await foundCatalog(store, params.name);
    const head = inputsOf(catalog, lastEvent, await store.sources(catalog.name));
    return streams.answer(c, () => inputsText(store, head));
  });
}

function inputsOf(
  { name, recipe, clock, throughEvent, newest }: CatalogRecord,
  lastEvent: number,
  sources: readonly SourceRecord[],
): CatalogInputs {
  const stands = newest !== undefined && newest.withdrawn === undefined;
  return {
    catalog: name,
    recipe,
    clock,
    throughEvent,
    lastEvent,
    ...(stands
      ? { snapshot: { serial: newest.serial, previous: newest.previous, digests: newest.digests } }
      : {}),
    sources: sources.map((record) => {
      const { invalid: _, invalidEntries: __, ...reported } = reportedSource(record);
      const { copy } = record;
      return {
        ...reported,
        ...(copy === undefined ? {} : { size: copy.size }),
        signatures: (copy?.signatures ?? []).map(({ signer, signedAt, receivedAt }) => ({
          signer,
          ...(signedAt === undefined ? {} : { signedAt }),
          receivedAt,
        })),
      };
    }),
  };
}

async function* inputsText(store: InputStore, head: CatalogInputs): AsyncIterable<string> {
  yield `${JSON.stringify(head)}\n`;
  let batch: UpstreamOffers[] = [];
  for await (const offers of store.allUpstreamOffers(head.catalog)) {
    batch.push(offers);
    if (batch.length < SERVER_LIMITS.cutBatch) continue;
    yield* linesOf(store, batch);
    batch = [];
  }
  yield* linesOf(store, batch);
}

async function* linesOf(store: InputStore, batch: readonly UpstreamOffers[]): AsyncIterable<string> {
  const all = batch.flatMap(({ offers }) =>
    [...offers].flatMap(([source, entries]) => entries.map((entry) => ({ source, entry }))),
  );
  const former = all.filter(({ entry }) => entry.goneAt !== undefined);
  const rendered = await store.entries([...new Set<Digest>(former.map(({ entry }) => entry.definition))]);
  for (const { source, entry } of all) {
    const { group, kind, definition, firstSeen, goneAt } = entry;
    const line = JSON.stringify({ source, group, kind, definition, firstSeen, ...(goneAt && { goneAt }) });
    // It is JSON already.
    yield goneAt === undefined
      ? `${line}\n`
      : `${line.slice(0, -1)},"entry":${rendered.get(definition)!.json}}\n`;
  }
}
