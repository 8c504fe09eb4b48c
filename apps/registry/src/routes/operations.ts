import type { Readiness } from '@krmhub/api/model';
import { openApiDocument } from '@krmhub/api/openapi';
import { ROUTES } from '@krmhub/api/routes';
import { sha256 } from '@krmhub/schema';
import { asTheyAre, bytesAnswer, CACHE_ASKING } from '../bytes-answer.js';
import { serveRoute } from '../endpoint.js';
import type { RegistryApp, RegistryParts } from '../environment.js';
import { SERVER_LIMITS } from '../limits.js';

export function operationRoutes(app: RegistryApp, parts: RegistryParts): void {
  const document = new TextEncoder().encode(JSON.stringify(openApiDocument(parts.config.publicUrl)));
  serveRoute(app, ROUTES.openapi, (c) =>
    bytesAnswer(c, {
      digest: sha256(document),
      mediaType: 'application/json',
      cacheControl: CACHE_ASKING,
      find: async () => asTheyAre(document),
    }),
  );

  const noStore = { 'Cache-Control': 'no-store' };
  serveRoute(app, ROUTES.healthz, (c) => c.json({ status: 'ok' }, 200, noStore));

  const readiness = reused(() => checkReadiness(parts));
  serveRoute(app, ROUTES.readyz, async (c) => {
    const result = await readiness();
    return c.json(result, result.status === 'ok' ? 200 : 503, noStore);
  });

  serveRoute(app, ROUTES.metrics, async (c) =>
    c.body(await parts.metrics.render(), 200, { 'Content-Type': parts.metrics.contentType, ...noStore }),
  );
}

async function checkReadiness({ store, blobs, artifacts, cutter, log }: RegistryParts): Promise<Readiness> {
  const attempt = async (
    name: 'store' | 'blobs',
    check: () => Promise<void>,
  ): Promise<Readiness['checks'][number]> => {
    try {
      await check();
      return { name, status: 'ok' };
    } catch (error) {
      log.error({ err: error, check: name }, 'readiness check failed');
      return { name, status: 'failing', detail: 'It cannot be written; the log has the cause' };
    }
  };
  const { caughtUp, failure, failing } = cutter.status();
  // One catalog that cannot be cut is a matter of its recipe: the registry serves all others.
  const detail =
    failure ??
    (caughtUp
      ? failing.map(({ catalog, message }) => `${catalog}: ${message}`).join('; ')
      : 'The catalogs are being cut for the first time since the start');
  const checks: Readiness['checks'] = [
    await attempt('store', () => store.check()),
    await attempt('blobs', async () => {
      await blobs.check();
      await artifacts.check();
    }),
    {
      name: 'catalogs',
      status: caughtUp && failure === undefined ? 'ok' : 'failing',
      ...(detail === '' ? {} : { detail }),
    },
  ];
  return { status: checks.every(({ status }) => status === 'ok') ? 'ok' : 'failing', checks };
}

/** One answer for everybody who asks within a short time: the checks write, and anybody can ask. */
function reused<T>(make: () => Promise<T>): () => Promise<T> {
  let made: { at: number; value: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (made === undefined || now - made.at > SERVER_LIMITS.readinessMilliseconds)
      made = { at: now, value: make() };
    return made.value;
  };
}
