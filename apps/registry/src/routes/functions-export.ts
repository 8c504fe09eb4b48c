import { setImmediate } from 'node:timers/promises';
import type { ExportedRelease } from '@krmhub/api/export-model';
import { ROUTES } from '@krmhub/api/routes';
import type { CatalogStore, ReleaseRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { CACHE_ASKING } from '../bytes-answer.js';
import { serveRoute } from '../endpoint.js';
import type { RegistryApp, RegistryParts } from '../environment.js';
import { SERVER_LIMITS } from '../limits.js';

type ExportStore = Pick<CatalogStore, 'allFunctions' | 'release'>;

/** Of all functions, a page of summaries and one release are in memory; nothing is read before somebody takes it. */
export function functionsExportRoute(app: RegistryApp, { store }: RegistryParts): void {
  let running = 0;

  serveRoute(app, ROUTES.functionsExport, (c) => {
    const headers = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': CACHE_ASKING };
    if (c.req.method === 'HEAD') return new Response(null, { headers });
    if (running >= SERVER_LIMITS.maxExports) {
      throw new KrmhubError('unavailable', 'All functions are being read by many others at once', {
        hint: 'Ask again in a minute.',
      });
    }
    running += 1;
    return new Response(
      streamOf(inPieces(exportedText(store)), () => (running -= 1)),
      { headers },
    );
  });
}

/** A piece is made when it is asked for. `ended` is called once, also where nobody reads to the end. */
function streamOf(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  ended: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isOpen = true;
  const end = () => {
    if (isOpen) ended();
    isOpen = false;
  };
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next();
          if (done !== true) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      async cancel() {
        end();
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* inPieces(
  texts: AsyncIterable<string>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined, undefined> {
  const encoder = new TextEncoder();
  let pending = '';
  for await (const text of texts) {
    pending += text;
    if (pending.length < SERVER_LIMITS.exportPieceBytes) continue;
    yield encoder.encode(pending);
    pending = '';
  }
  if (pending !== '') yield encoder.encode(pending);
  return undefined;
}

/** What is taken down meanwhile is left out; who wants one moment of everything compares the newest event before and after. */
async function* exportedText(store: ExportStore): AsyncIterable<string> {
  let turn = performance.now();
  for await (const { group, kind, releases } of store.allFunctions()) {
    let count = 0;
    for (const { release } of releases) {
      const record = await store.release(group, kind, release);
      if (record === undefined) continue;
      const head =
        count++ === 0 ? `{"group":${JSON.stringify(group)},"kind":${JSON.stringify(kind)},"releases":[` : ',';
      yield head + JSON.stringify(exportedRelease(record));
      if (performance.now() - turn < SERVER_LIMITS.exportTurnMilliseconds) continue;
      await setImmediate();
      turn = performance.now();
    }
    if (count > 0) yield ']}\n';
  }
}

function exportedRelease(record: ReleaseRecord): ExportedRelease {
  const { yanked, deprecated, bundles } = record;
  return {
    release: record.release,
    digest: record.digest,
    size: record.size,
    versions: record.versions,
    tags: record.tags,
    publisher: record.publisher,
    runtimes: record.runtimes,
    licenses: record.licenses,
    publishedAt: record.publishedAt,
    publishedBy: record.publishedBy,
    ...(yanked === undefined ? {} : { yanked }),
    ...(deprecated === undefined ? {} : { deprecated }),
    ...(bundles === undefined || bundles.length === 0 ? {} : { bundles }),
    definition: record.definition,
  };
}
