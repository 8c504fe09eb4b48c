import type { Readiness } from '@krmhub/api/model';
import { openApiDocument } from '@krmhub/api/openapi';
import { ROUTES } from '@krmhub/api/routes';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import { currentActor, type KnownAccess } from '../http/auth/request-actor.js';
import { bytesResponse, CACHE_REVALIDATE, uncompressed } from '../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import type { PublicAddress } from '../http/public-address.js';
import type { Metrics } from '../metrics.js';
import { sightOf } from '../store/sight.js';

/** Where a line of the metrics names a catalog. */
const CATALOG_LABEL = /[{,]catalog="([^"]*)"/;

interface OperationDeps {
  readiness: (exclude?: readonly Readiness['checks'][number]['name'][]) => Promise<Readiness>;
  metrics: Metrics;
  config: PublicAddress;
  access: KnownAccess;
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

  /** Without catalogs that the request may not read. */
  const metrics = async () => {
    const text = await deps.metrics.render();
    if (!deps.access.rules.hidesAnything) return text;
    const sight = sightOf(deps.access.rules, currentActor());
    const isSeen = (line: string) => {
      const catalog = CATALOG_LABEL.exec(line)?.[1];
      return catalog === undefined || sight.catalog(catalog);
    };
    return text.split('\n').filter(isSeen).join('\n');
  };
  const noStore = { 'Cache-Control': 'no-store' };
  serveRoute(app, ROUTES.healthz, (c) => c.json({ status: 'ok' }, 200, noStore));

  serveRoute(app, ROUTES.readyz, async (c, { query: { exclude = [] } }) => {
    const readiness = await deps.readiness(exclude);
    return c.json(readiness, readiness.status === 'ok' ? 200 : 503, noStore);
  });

  serveRoute(app, ROUTES.metrics, async (c) => {
    refuseProxied(c);
    return c.body(await metrics(), 200, { 'Content-Type': deps.metrics.contentType, ...noStore });
  });
}

/** Proxies add these fields. Metrics are for the operator, who reaches each process itself. */
function refuseProxied({ req }: RegistryContext): void {
  if (['forwarded', 'x-forwarded-for'].every((name) => req.header(name) === undefined)) return;
  throw new KrmhubError('forbidden', 'the metrics are not available through a proxy', {
    hint: 'Scrape the address and port of each process.',
  });
}
