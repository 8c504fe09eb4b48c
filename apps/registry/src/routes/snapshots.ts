import type { SnapshotList } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type {
  CatalogEntryRow,
  CatalogSyntax,
  FunctionReader,
  ReleaseSummary,
  SnapshotRecord,
  SnapshotStore,
} from '@krmhub/catalog';
import { type CatalogKind, type Digest, type FunctionName, KrmhubError, type Profile } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { selectRendition } from '../catalogs/catalog-header.js';
import type { CatalogDocuments } from '../catalogs/segments/catalog-documents.js';
import type { SnapshotFinderDeps } from '../catalogs/serve/find-snapshot.js';
import { snapshotCheck, snapshotFinder } from '../catalogs/serve/find-snapshot.js';
import { codedResponse, type NewestResponses } from '../catalogs/serve/newest-responses.js';
import { CATALOG_MEDIA_TYPES, newestLink, snapshotCatalog } from '../catalogs/serve/served-catalog.js';
import { documentReader, SNAPSHOT_DOCUMENT, SNAPSHOT_REPORT } from '../catalogs/serve/snapshot-documents.js';
import {
  bytesResponse,
  CACHE_FOREVER,
  CACHE_REVALIDATE,
  negotiatedResponse,
  uncompressed,
} from '../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { catalogFunction, type OwnerJudge, snapshotSummary } from '../http/presentation.js';
import { storedJsonResponse, toJson, withMember } from '../http/stored-json.js';
import { findCatalog } from '../store/find-record.js';
import type { ProfileDeps } from './profiles.js';
import { profileResponses } from './profiles.js';

interface SnapshotDeps extends SnapshotFinderDeps, ProfileDeps, OwnerJudge {
  store: SnapshotStore & FunctionReader;
  documents: CatalogDocuments;
  newestResponses: NewestResponses;
}

export function snapshotRoutes(app: RegistryApp, deps: SnapshotDeps): void {
  const { store, documents, newestResponses, config } = deps;
  const { newestSnapshot, currentSnapshot, namedSnapshot } = snapshotFinder(deps);
  const profiles = profileResponses(deps);

  serveRoute(app, ROUTES.catalogYaml, async (c, { params, query }) => {
    const { kind, profile } = requestedRendition(query);
    // Unlike a rendition, a profile may have to be rendered.
    if (profile !== undefined) c.get('limits').countBy(c, 'read');
    const snapshot = await newestSnapshot(params.name);
    if (profile !== undefined) return profiles.respond(c, snapshot, profile);
    return newestResponse(c, snapshot, { syntax: 'yaml', kind });
  });

  serveRoute(app, ROUTES.catalogJson, async (c, { params, query: { kind } }) => {
    const snapshot = await newestSnapshot(params.name);
    return newestResponse(c, snapshot, { syntax: 'json', kind });
  });

  serveRoute(app, ROUTES.snapshotCatalogYaml, async (c, { params, query }) => {
    const { kind, profile } = requestedRendition(query);
    const snapshot = await currentSnapshot(params);
    if (profile !== undefined) return profiles.respond(c, snapshot, profile);
    return snapshotResponse(c, snapshot, { syntax: 'yaml', kind });
  });

  serveRoute(app, ROUTES.snapshotCatalogJson, async (c, { params, query: { kind } }) => {
    const snapshot = await currentSnapshot(params);
    return snapshotResponse(c, snapshot, { syntax: 'json', kind });
  });

  serveRoute(app, ROUTES.snapshotProfile, async (c, { params }) =>
    profiles.report(c, await currentSnapshot(params), params.profile),
  );

  serveRoute(app, ROUTES.catalogEntry, async (c, { params, query }) => {
    const { kind, profile } = requestedRendition(query);
    const { snapshot, row } = await findEntry(params);
    if (profile !== undefined) return profiles.respondWithEntry(c, snapshot, profile, [row.entry]);
    const read = async () => (await store.entries([row.entry])).get(row.entry);
    const { negotiated, bytes } = (await newestResponses.entry(snapshot, row, kind, read))!;
    return negotiatedResponse(c, negotiated, { find: async () => uncompressed(bytes) });
  });

  serveRoute(app, ROUTES.catalogFunction, async (c, { params }) => {
    const { snapshot, row, releases } = await findEntry(params);
    const detail = catalogFunction(deps, snapshot, row, releases);
    return storedJsonResponse(c, [detail, row.entry], async () => {
      const { json } = (await store.entries([row.entry])).get(row.entry)!;
      return withMember(toJson(detail), 'definition', [Buffer.from(json)]);
    });
  });

  serveRoute(app, ROUTES.snapshots, async (c, { params, query }) => {
    const { newest } = await findCatalog(store, params.name);
    const snapshots = await store.snapshots(params.name, query.limit, query.before);
    const last = snapshots.at(-1)?.serial ?? 1;
    // Serials have no gaps.
    const result: SnapshotList = {
      catalog: params.name,
      snapshots: snapshots.map(snapshotSummary),
      total: Math.max(newest?.serial ?? 0, snapshots[0]?.serial ?? 0),
      ...defined({ next: last > 1 ? last : undefined }),
    };
    return c.json(result);
  });

  serveRoute(app, ROUTES.snapshotJson, async (c, { params }) => {
    const snapshot = await namedSnapshot(params);
    // One that is not withdrawn is signed, and keeps what it had.
    const reader = snapshot.withdrawn && documentReader(deps.access);
    const input = { snapshot, ...defined({ reader }) };
    return deps.derived.respondWithDigest(c, SNAPSHOT_DOCUMENT, input, {
      mediaType: CATALOG_MEDIA_TYPES.json,
      cacheControl: reader === undefined ? CACHE_FOREVER : CACHE_REVALIDATE,
      headers: { Link: newestLink(config, snapshot) },
    });
  });

  serveRoute(app, ROUTES.snapshotReport, async (c, { params }) => {
    const snapshot = await namedSnapshot(params);
    const reader = documentReader(deps.access);
    const input = { snapshot, ...defined({ reader }) };
    return deps.derived.respond(c, SNAPSHOT_REPORT, input, {
      mediaType: CATALOG_MEDIA_TYPES.json,
      // What it names can become private later.
      cacheControl: CACHE_REVALIDATE,
      headers: { Link: newestLink(config, snapshot) },
    });
  });

  /** Finds an entry of the newest snapshot. Another build may have stored a later row by now. */
  async function findEntry({ name, group, kind }: FunctionName & { name: string }): Promise<{
    snapshot: SnapshotRecord;
    row: CatalogEntryRow & { entry: Digest };
    releases: readonly ReleaseSummary[];
  }> {
    const snapshot = await newestSnapshot(name);
    // The record has the spelling of the kind. For a function from upstream, the entry has it.
    const served = await store.servedEntries(group, kind);
    const own = await store.function(group, kind);
    const fn = served.find(({ catalog }) => catalog === name) ?? own;
    const [row] = fn === undefined ? [] : await store.snapshotEntryRows(name, snapshot.serial, [fn]);
    if (row?.entry !== undefined)
      return { snapshot, row: { ...row, entry: row.entry }, releases: own?.releases ?? [] };
    // This process may not have heard of the newest one.
    if (fn !== undefined && (await deps.newestSnapshots.refresh(name, snapshot)))
      return findEntry({ name, group, kind });
    throw new KrmhubError('not-found', `catalog ${name} has no function ${group}/${kind}`, {
      hint: `List its functions with \`krmhub search --catalog ${name}\`.`,
    });
  }

  function newestResponse(
    c: RegistryContext,
    snapshot: SnapshotRecord,
    { syntax, kind }: { syntax: CatalogSyntax; kind: CatalogKind },
  ): Promise<Response> {
    const response = newestResponses.catalog(snapshot, syntax, kind);
    const { negotiated } = codedResponse(response, c.req.header('accept-encoding'));
    return negotiatedResponse(c, negotiated, {
      find: (coding) => documents.find(snapshot, selectRendition(kind, syntax), coding),
      isReadable: snapshotCheck(store, snapshot),
    });
  }

  function snapshotResponse(
    c: RegistryContext,
    snapshot: SnapshotRecord,
    requested: { syntax: CatalogSyntax; kind: CatalogKind },
  ): Promise<Response> {
    const rendition = selectRendition(requested.kind, requested.syntax);
    return bytesResponse(c, {
      ...snapshotCatalog(config, snapshot, { ...requested, documents }),
      find: (coding) => documents.find(snapshot, rendition, coding),
      isReadable: snapshotCheck(store, snapshot),
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
    throw new KrmhubError('invalid-request', 'cannot combine kind and profile', {
      hint: `Remove kind: the profile ${profile} sets it.`,
    });
  }
  return { kind: kind ?? 'Catalog', profile };
}
