import type { ExportedBundle, ExportedFunction, ExportedRelease } from '@krmhub/api/export-model';
import { ROUTES } from '@krmhub/api/routes';
import { type FunctionReader, functionKey, type ReleaseBundle, type ReleaseRecord } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { LineStreams } from '../http/line-stream.js';

type ExportStore = FunctionReader;

/** Serves all functions as lines. Only a page of summaries and one release are in memory. */
export function functionsExportRoute(app: RegistryApp, { store }: { store: ExportStore }): void {
  const streams = new LineStreams();
  serveRoute(app, ROUTES.functionsExport, (c) => streams.respond(c, () => exportedText(store)));
}

/**
 * Yields the lines. Functions that are taken down meanwhile are left out. For a consistent export, clients compare
 * the newest event before and after.
 */
async function* exportedText(store: ExportStore): AsyncIterable<string> {
  for await (const { group, kind, releases } of store.allFunctions()) {
    let count = 0;
    for (const { release } of releases) {
      const record = await store.release(group, kind, release);
      if (record === undefined) continue;
      const head =
        count++ === 0 ? `{"group":${JSON.stringify(group)},"kind":${JSON.stringify(kind)},"releases":[` : ',';
      yield head + JSON.stringify(exportedRelease(record));
    }
    if (count > 0) yield ']}\n';
  }
  yield* withoutReleases(store);
}

/** Yields functions whose releases were all taken down: their groups stay reserved. */
async function* withoutReleases(store: ExportStore): AsyncIterable<string> {
  const seen = new Set<string>();
  for (const { group, kind } of await store.allTakedowns()) {
    const key = functionKey({ group, kind });
    if (seen.has(key)) continue;
    seen.add(key);
    if ((await store.function(group, kind)) === undefined) {
      yield `${JSON.stringify({ group, kind, releases: [] } satisfies ExportedFunction)}\n`;
    }
  }
}

/** Builds depend on definitions only, not on what else a signature covers. */
function exportedBundle({ isWhole: _, ...bundle }: ReleaseBundle): ExportedBundle {
  return bundle;
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
    ...defined({
      yanked,
      deprecated,
      bundles: bundles === undefined || bundles.length === 0 ? undefined : bundles.map(exportedBundle),
    }),
    definition: record.definition,
  };
}
