import type { SnapshotList } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import { renderCatalog, renderReport, renderSnapshot, type SnapshotRecord } from '@krmhub/catalog';
import { type CatalogKind, KrmhubError, type Profile } from '@krmhub/schema';
import { snapshotFinder } from '../catalogs/find-snapshot.js';
import { catalogHeader, formOf } from '../catalogs/renditions/snapshot-renditions.js';
import { bytesAnswer, CACHE_ASKING, CACHE_FOREVER, textAnswer } from '../http/bytes-response.js';
import { serveRoute } from '../http/endpoint.js';
import { publicAddress } from '../http/public-address.js';
import type { AccessSettings, RegistryApp, RegistryContext, RegistryParts } from '../server/environment.js';
import { foundCatalog } from './find-function.js';
import { snapshotSummary } from './presentation.js';
import { profileAnswers } from './profiles.js';

export const MEDIA_TYPES = { yaml: 'application/yaml', json: 'application/json' } as const;

export function snapshotRoutes(app: RegistryApp, parts: RegistryParts): void {
  const { store, forms, config } = parts;
  const { newestSnapshot, standingSnapshot, namedSnapshot } = snapshotFinder(parts);
  const profiles = profileAnswers(parts);

  serveRoute(app, ROUTES.catalogYaml, async (c, { params, query }) => {
    const { kind, profile } = askedForm(query);
    // Unlike a form, a profile may have to be written.
    if (profile !== undefined) c.get('limits').countBy(c, 'read');
    const snapshot = await newestSnapshot(params.name);
    if (profile !== undefined) return profiles.answer(c, snapshot, profile);
    const headers = { Link: ownLink(config, snapshot, 'yaml', kind) };
    return formAnswer(c, snapshot, { syntax: 'yaml', kind, cacheControl: CACHE_ASKING, headers });
  });

  serveRoute(app, ROUTES.catalogJson, async (c, { params, query: { kind } }) => {
    const snapshot = await newestSnapshot(params.name);
    const headers = { Link: ownLink(config, snapshot, 'json', kind) };
    return formAnswer(c, snapshot, { syntax: 'json', kind, cacheControl: CACHE_ASKING, headers });
  });

  serveRoute(app, ROUTES.snapshotCatalogYaml, async (c, { params, query }) => {
    const { kind, profile } = askedForm(query);
    const snapshot = await standingSnapshot(params);
    if (profile !== undefined) return profiles.answer(c, snapshot, profile);
    const headers = { Link: newestLink(config, snapshot) };
    return formAnswer(c, snapshot, { syntax: 'yaml', kind, cacheControl: CACHE_FOREVER, headers });
  });

  serveRoute(app, ROUTES.snapshotCatalogJson, async (c, { params, query: { kind } }) => {
    const snapshot = await standingSnapshot(params);
    const headers = { Link: newestLink(config, snapshot) };
    return formAnswer(c, snapshot, { syntax: 'json', kind, cacheControl: CACHE_FOREVER, headers });
  });

  serveRoute(app, ROUTES.snapshotProfile, async (c, { params }) =>
    profiles.report(c, await standingSnapshot(params), params.profile),
  );

  serveRoute(app, ROUTES.catalogEntry, async (c, { params, query }) => {
    const { kind, profile } = askedForm(query);
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
    if (profile !== undefined) return profiles.entryAnswer(c, snapshot, profile, [...entries.values()]);
    const form = formOf(kind, 'yaml');
    const text = [...renderCatalog(form, catalogHeader(snapshot), entries.values())].join('');
    return textAnswer(c, text, {
      mediaType: 'application/yaml',
      cacheControl: CACHE_ASKING,
      headers: { Link: ownLink(config, snapshot, 'yaml', kind) },
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

function askedForm({ kind, profile }: { kind?: CatalogKind | undefined; profile?: Profile | undefined }): {
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
