import type { SnapshotList } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import { renderCatalog, renderReport, renderSnapshot, type SnapshotRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { bytesAnswer, CACHE_ASKING, CACHE_FOREVER, textAnswer } from '../bytes-answer.js';
import { serveRoute } from '../endpoint.js';
import type { AccessSettings, RegistryApp, RegistryContext, RegistryParts } from '../environment.js';
import { snapshotFinder } from '../find-snapshot.js';
import { foundCatalog } from '../lookup.js';
import { snapshotSummary } from '../presentation.js';
import { publicAddress } from '../public-address.js';
import { catalogHeader, formOf } from '../snapshot-forms.js';

export const MEDIA_TYPES = { yaml: 'application/yaml', json: 'application/json' } as const;

export function snapshotRoutes(app: RegistryApp, parts: RegistryParts): void {
  const { store, forms, config } = parts;
  const { newestSnapshot, standingSnapshot, namedSnapshot } = snapshotFinder(parts);

  for (const [route, syntax] of [
    [ROUTES.catalogYaml, 'yaml'],
    [ROUTES.catalogJson, 'json'],
  ] as const) {
    serveRoute(app, route, async (c, { params, query: { kind } }) => {
      const snapshot = await newestSnapshot(params.name);
      const headers = { Link: ownLink(config, snapshot, syntax, kind) };
      return formAnswer(c, snapshot, { syntax, kind, cacheControl: CACHE_ASKING, headers });
    });
  }

  for (const [route, syntax] of [
    [ROUTES.snapshotCatalogYaml, 'yaml'],
    [ROUTES.snapshotCatalogJson, 'json'],
  ] as const) {
    serveRoute(app, route, async (c, { params, query: { kind } }) => {
      const snapshot = await standingSnapshot(params);
      const headers = { Link: newestLink(config, snapshot) };
      return formAnswer(c, snapshot, { syntax, kind, cacheControl: CACHE_FOREVER, headers });
    });
  }

  serveRoute(app, ROUTES.catalogEntry, async (c, { params, query }) => {
    const snapshot = await newestSnapshot(params.name);
    // The record says how the kind is written; of what the catalog takes from elsewhere, the entry itself does.
    const served = await store.servedEntries(params.group, params.kind);
    const fn =
      served.find(({ catalog }) => catalog === params.name) ??
      (await store.function(params.group, params.kind));
    const [place] = fn === undefined ? [] : await store.catalogFunctions(params.name, [fn]);
    if (place?.entry === undefined) {
      throw new KrmhubError(
        'not-found',
        `The catalog ${params.name} has no function ${params.group}/${params.kind}`,
        {
          hint: `GET ${fillPath('catalogYaml', { name: params.name })} has all of them.`,
        },
      );
    }
    const entries = await store.entries([place.entry]);
    const form = formOf(query.kind, 'yaml');
    const text = [...renderCatalog(form, catalogHeader(snapshot), entries.values())].join('');
    return textAnswer(c, text, {
      mediaType: 'application/yaml',
      cacheControl: CACHE_ASKING,
      headers: { Link: ownLink(config, snapshot, 'yaml', query.kind) },
    });
  });

  serveRoute(app, ROUTES.snapshots, async (c, { params, query }) => {
    await foundCatalog(store, params.name);
    const snapshots = await store.snapshots(params.name, query.limit);
    const result: SnapshotList = { catalog: params.name, snapshots: snapshots.map(snapshotSummary) };
    return c.json(result);
  });

  serveRoute(app, ROUTES.snapshotJson, async (c, { params }) => {
    const snapshot = await namedSnapshot(params);
    const functions = await store.snapshotFunctions(snapshot.catalog, snapshot.serial);
    return textAnswer(c, renderSnapshot(snapshot, functions), {
      mediaType: MEDIA_TYPES.json,
      cacheControl: CACHE_FOREVER,
      headers: { Link: newestLink(config, snapshot) },
    });
  });

  serveRoute(app, ROUTES.snapshotReport, async (c, { params }) => {
    const snapshot = await namedSnapshot(params);
    const functions = await store.snapshotFunctions(snapshot.catalog, snapshot.serial);
    const text = renderReport(snapshot, functions);
    return textAnswer(c, text, {
      mediaType: MEDIA_TYPES.json,
      cacheControl: CACHE_FOREVER,
      headers: { Link: newestLink(config, snapshot) },
    });
  });

  function formAnswer(
    c: RegistryContext,
    snapshot: SnapshotRecord,
    answer: {
      syntax: 'yaml' | 'json';
      kind: 'Catalog' | 'KRMFunctionCatalog';
      cacheControl: string;
      headers: Record<string, string>;
    },
  ): Promise<Response> {
    const { syntax, kind, cacheControl, headers } = answer;
    const form = formOf(kind, syntax);
    return bytesAnswer(c, {
      digest: snapshot.digests[form],
      mediaType: MEDIA_TYPES[syntax],
      cacheControl,
      headers,
      coded: true,
      find: (coding) => forms.find(snapshot, form, coding),
    });
  }
}

/** RFC 7089 calls the fixed state of what changes its memento. */
export function ownLink(
  config: AccessSettings,
  { catalog, serial }: SnapshotRecord,
  syntax: 'yaml' | 'json',
  kind: 'Catalog' | 'KRMFunctionCatalog',
): string {
  const route = syntax === 'yaml' ? 'snapshotCatalogYaml' : 'snapshotCatalogJson';
  const path = publicAddress(config, fillPath(route, { name: catalog, snapshot: String(serial) }));
  const query = kind === 'Catalog' ? '' : `?kind=${kind}`;
  const history = publicAddress(config, fillPath('snapshots', { name: catalog }));
  return `<${path}${query}>; rel="memento", <${history}>; rel="version-history"`;
}

/** RFC 5829. */
function newestLink(config: AccessSettings, { catalog }: SnapshotRecord): string {
  const history = publicAddress(config, fillPath('snapshots', { name: catalog }));
  const newest = publicAddress(config, fillPath('catalogYaml', { name: catalog }));
  return `<${newest}>; rel="latest-version", <${history}>; rel="version-history"`;
}
