import type { Readiness } from '@krmhub/api/model';
import { openApiDocument } from '@krmhub/api/openapi';
import { ROUTES } from '@krmhub/api/routes';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import { bytesResponse, CACHE_REVALIDATE, uncompressed } from '../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import type { PublicAddress } from '../http/public-address.js';
import type { Metrics } from '../metrics.js';

interface OperationDeps {
  readiness: (exclude?: readonly Readiness['checks'][number]['name'][]) => Promise<Readiness>;
  metrics: Metrics;
  config: PublicAddress;
}

export function operationRoutes(app: RegistryApp, deps: OperationDeps): void {
  // Generated on the first request: it takes long, and most registries of tests never need it.
  let generated: { document: Uint8Array; digest: Digest } | undefined;
  const generate = () => {
    const document = new TextEncoder().encode(JSON.stringify(openApiDocument(deps.config.publicUrl)));
    return { document, digest: sha256(document) };
  };
  serveRoute(app, ROUTES.openapi, (c) => {
    generated ??= generate();
    const { document, digest } = generated;
    return bytesResponse(c, {
      digest,
      mediaType: 'application/json',
      cacheControl: CACHE_REVALIDATE,
      find: async () => uncompressed(document),
    });
  });

  const noStore = { 'Cache-Control': 'no-store' };
  serveRoute(app, ROUTES.healthz, (c) => c.json({ status: 'ok' }, 200, noStore));

  serveRoute(app, ROUTES.readyz, async (c, { query: { exclude = [] } }) => {
    const readiness = await deps.readiness(exclude);
    return c.json(readiness, readiness.status === 'ok' ? 200 : 503, noStore);
  });

  serveRoute(app, ROUTES.metrics, async (c) => {
    refuseProxied(c);
    return c.body(await deps.metrics.render(), 200, { 'Content-Type': deps.metrics.contentType, ...noStore });
  });
}

/** Proxies add these fields. Metrics are for the operator, who reaches each process itself. */
function refuseProxied({ req }: RegistryContext): void {
  if (['forwarded', 'x-forwarded-for'].every((name) => req.header(name) === undefined)) return;
  throw new KrmhubError('forbidden', 'the metrics are not available through a proxy', {
    hint: 'Scrape the address and port of each process.',
  });
}
