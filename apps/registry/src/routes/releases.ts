/**
 * Handlers of the HTTP API: they authorize, read the body, call another module, and write its result.
 *
 * The contract of each route is in packages/api/src/routes.ts.
 *
 * @module
 */

import type { PublishResult } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import type {
  BlobBytes,
  CatalogReader,
  CatalogRecord,
  EventStore,
  FunctionReader,
  ReleaseFiles,
  ReleaseSummary,
  SnapshotStore,
} from '@krmhub/catalog';
import { isCandidate } from '@krmhub/catalog';
import { type Digest, type FunctionName, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { AwaitableBuilder } from '../catalogs/build/catalog-builder.js';
import { storedRecipe } from '../catalogs/stored-recipe.js';
import type { Authority } from '../http/auth/authorize.js';
import { authorize, latestToken, recheckToken } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import { type Body, bytesResponse, CACHE_FOREVER, uncompressed } from '../http/bytes-response.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { releaseDetail } from '../http/presentation.js';
import type { PublicAddress } from '../http/public-address.js';
import { publicAddress } from '../http/public-address.js';
import { storedJsonResponse, toJson, withMember } from '../http/stored-json.js';
import type { FunctionLocks } from '../publish/function-locks.js';
import { publishOrAttach } from '../publish/publish-or-attach.js';
import type { PublishDeps } from '../publish/publish-release.js';
import { readSubmission } from '../publish/submission.js';
import type { AttachDeps } from '../publish/trust/attach-bundle.js';
import { definitionJson, findReleaseHead } from '../store/find-record.js';

/** An uploaded file must not run in a browser on the registry's origin. */
const UPLOADED = {
  'Content-Disposition': 'inline',
  'Content-Security-Policy': "default-src 'none'; sandbox",
};

type ReleaseDeps = PublishDeps &
  AttachDeps &
  Authority & {
    store: FunctionReader & SnapshotStore & EventStore;
    blobs: BlobBytes;
    functionLocks: FunctionLocks;
    snapshotBuilder: AwaitableBuilder;
    config: PublicAddress;
  };

export function releaseRoutes(app: RegistryApp, deps: ReleaseDeps): void {
  const { store, blobs } = deps;

  serveRoute(app, ROUTES.release, async (c, { params }) => {
    const { release } = await findReleaseHead(store, params);
    const [more] = await store.notesAndRuns([release]);
    const detail = releaseDetail(deps, release, more);
    return storedJsonResponse(c, detail, async () =>
      withMember(toJson(detail), 'definition', [await definitionJson(store, release)]),
    );
  });

  serveRoute(app, ROUTES.publish, async (c, { params, query }) => {
    const token = await authorize(c, deps, 'publish', params.group, params.kind);
    const submission = await readSubmission(c);
    const options = {
      ...callerOf(c, token),
      ...defined({ run: token.run }),
      token: () => latestToken(c, token),
      recheck: recheckToken(c),
      ...query,
    };
    const result = await deps.functionLocks.run(params, options.recheck, () =>
      publishOrAttach(deps, params, submission, options),
    );
    if (query.wait && !query.dryRun) {
      const { release } = result;
      // Other catalogs may take long to build.
      const catalogs = await catalogsListing(store, release);
      await deps.snapshotBuilder.waitFor({ event: await store.lastEvent(), catalogs });
      result.catalogs = await snapshotsWithRelease(deps, release, release.release);
    }
    if (result.outcome !== 'created' || result.dryRun) return c.json(result);
    const { group, kind, release } = result.release;
    const Location = publicAddress(deps.config, fillPath('release', { group, kind, release }));
    return c.json(result, 201, { Location });
  });

  /** The error of a missing file says why it is missing. */
  const findFiles = async (name: FunctionName & { release: string }): Promise<ReleaseFiles> =>
    (await store.releaseFiles(name.group, name.kind, name.release)) ??
    (await findReleaseHead(store, name)).release;

  serveRoute(app, ROUTES.definition, async (c, { params }) => {
    const release = await findFiles(params);
    return bytesResponse(c, {
      digest: release.digest,
      mediaType: release.mediaType,
      cacheControl: CACHE_FOREVER,
      headers: UPLOADED,
      find: () => storedBytes(params, release.digest),
    });
  });

  serveRoute(app, ROUTES.readme, async (c, { params }) => {
    const { readme } = await findFiles(params);
    if (readme === undefined) {
      throw new KrmhubError('not-found', `${params.group}/${params.kind}@${params.release} has no README`);
    }
    return bytesResponse(c, {
      digest: readme,
      mediaType: 'text/markdown; charset=utf-8',
      cacheControl: CACHE_FOREVER,
      headers: UPLOADED,
      find: () => storedBytes(params, readme),
    });
  });

  async function storedBytes(
    name: FunctionName & { release: string },
    digest: Digest,
  ): Promise<{ coding: 'identity'; body: Body }> {
    const bytes = await blobs.get(digest);
    if (bytes !== undefined) return uncompressed(bytes);
    // A takedown after the read of the row; its tombstone is the response.
    await findFiles(name);
    throw new Error(`the blob ${digest} is missing`);
  }
}

/** Returns the catalogs whose recipes select a release; the policy of a recipe can still refuse it. */
async function catalogsListing(
  store: FunctionReader & CatalogReader,
  { group, kind, release }: FunctionName & { release: string },
): Promise<string[]> {
  const fn = await store.function(group, kind);
  const published = fn?.releases.find((one) => one.release === release);
  if (fn === undefined || published === undefined) return [];
  const catalogs = await store.catalogs();
  return catalogs.filter((catalog) => lists(catalog, fn, published)).map(({ name }) => name);
}

function lists(catalog: CatalogRecord, fn: FunctionName, release: ReleaseSummary): boolean {
  try {
    return isCandidate(storedRecipe(catalog), fn, release);
  } catch {
    // Another version of the program applied its recipe, so it cannot be built.
    return false;
  }
}

/** Returns the newest snapshots in which an API version of the function comes from the release. */
async function snapshotsWithRelease(
  { store }: { store: SnapshotStore },
  { group, kind }: FunctionName,
  release: string,
): Promise<PublishResult['catalogs']> {
  const containing: PublishResult['catalogs'] = [];
  for (const name of await store.catalogsContaining(group, kind)) {
    const newest = (await store.catalog(name))?.newest;
    if (newest === undefined) continue;
    const [row] = await store.snapshotEntryRows(name, newest.serial, [{ group, kind }]);
    if (!row?.versions.some((version) => version.release === release)) continue;
    containing.push({ catalog: name, serial: newest.serial, digest: newest.digests['catalog.yaml'] });
  }
  return containing;
}
