import type { SnapshotList } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import { renderCatalog, renderReport, renderSnapshot, type SnapshotRecord } from '@krmhub/catalog';
import { type CatalogKind, KrmhubError, type Profile } from '@krmhub/schema';
import { snapshotFinder } from '../catalogs/find-snapshot.js';
import { catalogHeader, selectRendition } from '../catalogs/renditions/snapshot-renditions.js';
import { bytesResponse, CACHE_FOREVER, CACHE_REVALIDATE, textResponse } from '../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { publicAddress } from '../http/public-address.js';
import type { AccessSettings, RegistryParts } from '../server/environment.js';
import { findCatalog } from './find-function.js';
import { snapshotSummary } from './presentation.js';
import { profileResponses } from './profiles.js';

export const MEDIA_TYPES = { yaml: 'application/yaml', json: 'application/json' } as const;

export function snapshotRoutes(app: RegistryApp, parts: RegistryParts): void {
  const { store, renditions: forms, config } = parts;
  const { newestSnapshot, currentSnapshot: standingSnapshot, namedSnapshot } = snapshotFinder(parts);
  const profiles = profileResponses(parts);

  serveRoute(app, ROUTES.catalogYaml, async (c, { params, query }) => {
    const { kind, profile } = requestedRendition(query);
    // Unlike a form, a profile may have to be written.
    if (profile !== undefined) c.get('limits').countBy(c, 'read');
    const snapshot = await newestSnapshot(params.name);
    if (profile !== undefined) return profiles.respond(c, snapshot, profile);
    const headers = { Link: snapshotLink(config, snapshot, 'yaml', kind) };
    return renditionResponse(c, snapshot, { syntax: 'yaml', kind, cacheControl: CACHE_REVALIDATE, headers });
  });

  serveRoute(app, ROUTES.catalogJson, async (c, { params, query: { kind } }) => {
    const snapshot = await newestSnapshot(params.name);
    const headers = { Link: snapshotLink(config, snapshot, 'json', kind) };
    return renditionResponse(c, snapshot, { syntax: 'json', kind, cacheControl: CACHE_REVALIDATE, headers });
  });

  serveRoute(app, ROUTES.snapshotCatalogYaml, async (c, { params, query }) => {
    const { kind, profile } = requestedRendition(query);
    const snapshot = await standingSnapshot(params);
    if (profile !== undefined) return profiles.respond(c, snapshot, profile);
    const headers = { Link: newestLink(config, snapshot) };
    return renditionResponse(c, snapshot, { syntax: 'yaml', kind, cacheControl: CACHE_FOREVER, headers });
  });

  serveRoute(app, ROUTES.snapshotCatalogJson, async (c, { params, query: { kind } }) => {
    const snapshot = await standingSnapshot(params);
    const headers = { Link: newestLink(config, snapshot) };
    return renditionResponse(c, snapshot, { syntax: 'json', kind, cacheControl: CACHE_FOREVER, headers });
  });

  serveRoute(app, ROUTES.snapshotProfile, async (c, { params }) =>
    profiles.report(c, await standingSnapshot(params), params.profile),
  );

  serveRoute(app, ROUTES.catalogEntry, async (c, { params, query }) => {
    const { kind, profile } = requestedRendition(query);
    const snapshot = await newestSnapshot(params.name);
    // The record says how the kind is written; of what the catalog takes from elsewhere, the entry itself does.
    const served = await store.servedEntries(params.group, params.kind);
    const fn =
      served.find(({ catalog }) => catalog === params.name) ??
      (await store.function(params.group, params.kind));
    const [place] = fn === undefined ? [] : await store.latestEntryRows(params.name, [fn]);
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
    if (profile !== undefined) return profiles.respondWithEntry(c, snapshot, profile, [...entries.values()]);
    const form = selectRendition(kind, 'yaml');
    const text = [...renderCatalog(form, catalogHeader(snapshot), entries.values())].join('');
    return textResponse(c, text, {
      mediaType: 'application/yaml',
      cacheControl: CACHE_REVALIDATE,
      headers: { Link: snapshotLink(config, snapshot, 'yaml', kind) },
    });
  });

  serveRoute(app, ROUTES.snapshots, async (c, { params, query }) => {
    await findCatalog(store, params.name);
    const snapshots = await store.snapshots(params.name, query.limit);
    const result: SnapshotList = { catalog: params.name, snapshots: snapshots.map(snapshotSummary) };
    return c.json(result);
  });

  serveRoute(app, ROUTES.snapshotJson, async (c, { params }) => {
    const snapshot = await namedSnapshot(params);
    const functions = await store.snapshotEntryRows(snapshot.catalog, snapshot.serial);
    return textResponse(c, renderSnapshot(snapshot, functions), {
      mediaType: MEDIA_TYPES.json,
      cacheControl: CACHE_FOREVER,
      headers: { Link: newestLink(config, snapshot) },
    });
  });

  serveRoute(app, ROUTES.snapshotReport, async (c, { params }) => {
    const snapshot = await namedSnapshot(params);
    const functions = await store.snapshotEntryRows(snapshot.catalog, snapshot.serial);
    const text = renderReport(snapshot, functions);
    return textResponse(c, text, {
      mediaType: MEDIA_TYPES.json,
      cacheControl: CACHE_FOREVER,
      headers: { Link: newestLink(config, snapshot) },
    });
  });

  function renditionResponse(
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
    const form = selectRendition(kind, syntax);
    return bytesResponse(c, {
      digest: snapshot.digests[form],
      mediaType: MEDIA_TYPES[syntax],
      cacheControl,
      headers,
      coded: true,
      find: (coding) => forms.find(snapshot, form, coding),
    });
  }
}

function requestedRendition({
  kind,
  profile,
}: {
  kind?: CatalogKind | undefined;
  profile?: Profile | undefined;
}): {
  kind: CatalogKind;
  profile: Profile | undefined;
} {
  if (kind !== undefined && profile !== undefined) {
    throw new KrmhubError('invalid-request', 'kind and profile cannot be asked for together', {
      hint: `Leave out kind: the profile ${profile} has one of its own.`,
    });
  }
  return { kind: kind ?? 'Catalog', profile };
}

/** RFC 7089 calls the fixed state of what changes its memento. */
export function snapshotLink(
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
