import { ROUTES } from '@krmhub/api/routes';
import { BUNDLE_LIMITS, type TokenRecord } from '@krmhub/catalog';
import { BUNDLE_MEDIA_TYPE, KrmhubError } from '@krmhub/schema';
import type { Authority } from '../http/auth/authorize.js';
import { authenticate, recheckRight, recheckToken } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import { changeOfRelease, refuseToAttach } from '../http/auth/yank-right.js';
import { bytesResponse, CACHE_FOREVER, uncompressed } from '../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { bundleList } from '../http/presentation.js';
import { bodyMediaType, readBody } from '../http/request-body.js';
import type { FunctionLocks } from '../publish/function-locks.js';
import type { AttachDeps } from '../publish/trust/attach-bundle.js';
import { attachBundle } from '../publish/trust/attach-bundle.js';
import { functionRepository } from '../store/artifacts/repositories.js';
import type { StoredBlobDeps } from '../store/artifacts/stored-blob.js';
import { lost, storedBytes } from '../store/artifacts/stored-blob.js';
import { type FindHeadStore, findReleaseHead } from '../store/find-record.js';

/** The routes of signatures and attestations of releases. */
type BundleDeps = AttachDeps &
  StoredBlobDeps &
  Authority & { store: FindHeadStore; functionLocks: FunctionLocks };

export function bundleRoutes(app: RegistryApp, deps: BundleDeps): void {
  const { store, trust } = deps;

  serveRoute(app, ROUTES.bundles, async (c, { params }) => {
    const { release } = await findReleaseHead(store, params);
    return c.json(bundleList(trust.policies, release));
  });

  serveRoute(app, ROUTES.bundle, async (c, { params }) => {
    const { fn, release } = await findReleaseHead(store, params);
    const bundle = release.bundles?.find(({ digest }) => digest === params.digest);
    if (bundle === undefined) {
      throw new KrmhubError(
        'not-found',
        `${fn.group}/${fn.kind}@${release.release} has no bundle ${params.digest}`,
      );
    }
    return bytesResponse(c, {
      digest: bundle.digest,
      mediaType: BUNDLE_MEDIA_TYPE,
      cacheControl: CACHE_FOREVER,
      find: async () => {
        const bytes = await storedBytes(deps, functionRepository(fn), bundle.digest);
        if (bytes === undefined) throw lost(bundle.digest, 'they are missing');
        return uncompressed(bytes);
      },
    });
  });

  serveRoute(app, ROUTES.attach, async (c, { params }) => {
    const token = await authenticate(c, deps);
    const refuse = (record: TokenRecord) => refuseToAttach(c, deps, record, params);
    await refuse(token);
    recheckRight(c, refuse);
    const request = { ...callerOf(c, token), recheck: recheckToken(c) };
    const bytes = await readBundleBody(c);
    const { release } = await changeOfRelease(c, store, params, () =>
      deps.functionLocks.run(params, request.recheck, () => attachBundle(deps, params, { bytes }, request)),
    );
    return c.json(bundleList(trust.policies, release));
  });
}

async function readBundleBody(c: RegistryContext): Promise<Uint8Array> {
  const mediaType = bodyMediaType(c);
  if (mediaType !== BUNDLE_MEDIA_TYPE && mediaType !== 'application/json') {
    throw new KrmhubError(
      'unsupported-media-type',
      `unsupported media type of a bundle: ${mediaType ?? '(none)'}`,
      {
        hint: `Send it as ${BUNDLE_MEDIA_TYPE} or application/json.`,
      },
    );
  }
  return readBody(c, BUNDLE_LIMITS.maxBytes);
}
