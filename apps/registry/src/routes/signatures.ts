import type { RegistryKeyList } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type { CatalogReader, SnapshotRecord } from '@krmhub/catalog';
import { BUNDLE_MEDIA_TYPE, KrmhubError } from '@krmhub/schema';
import type { SnapshotFinderDeps } from '../catalogs/serve/find-snapshot.js';
import { snapshotFinder } from '../catalogs/serve/find-snapshot.js';
import type { RegistryKeys } from '../catalogs/sign/registry-keys.js';
import { publishedKeys } from '../catalogs/sign/registry-keys.js';
import { CACHE_REVALIDATE, CACHE_SHORT, textResponse } from '../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';

interface SignatureDeps extends SnapshotFinderDeps {
  store: SnapshotFinderDeps['store'] & CatalogReader;
  keys: RegistryKeys;
}

export function signatureRoutes(app: RegistryApp, deps: SignatureDeps): void {
  const { store, keys } = deps;
  const { newestSnapshot, currentSnapshot } = snapshotFinder(deps);

  serveRoute(app, ROUTES.snapshotBundle, async (c, { params }) =>
    // A profile that a client asks for first is added to it.
    bundleResponse(c, await currentSnapshot(params), CACHE_REVALIDATE),
  );

  // The response says which snapshot it is of, so the client can read the rest by its serial.
  serveRoute(app, ROUTES.catalogBundle, async (c, { params }) =>
    bundleResponse(c, await newestSnapshot(params.name), CACHE_REVALIDATE),
  );

  serveRoute(app, ROUTES.registryKeys, async (c) => {
    const list: RegistryKeyList = { keys: publishedKeys(await keys.all()) };
    return textResponse(c, JSON.stringify(list), {
      mediaType: 'application/json',
      cacheControl: CACHE_SHORT,
    });
  });

  serveRoute(app, ROUTES.registryKey, async (c) =>
    textResponse(c, (await keys.signing()).publicKey.pem, {
      mediaType: 'application/x-pem-file',
      cacheControl: CACHE_SHORT,
    }),
  );

  async function bundleResponse(
    c: RegistryContext,
    { catalog, serial }: SnapshotRecord,
    cacheControl: string,
  ): Promise<Response> {
    const signature = await store.snapshotSignature(catalog, serial);
    if (signature !== undefined)
      return textResponse(c, signature.bundle, { mediaType: BUNDLE_MEDIA_TYPE, cacheControl });
    throw new KrmhubError('not-found', `snapshot ${serial} of catalog ${catalog} is not signed`, {
      hint: `Older snapshots are not signed. Verify the newest with \`krmhub catalog verify ${catalog}\`.`,
    });
  }
}
