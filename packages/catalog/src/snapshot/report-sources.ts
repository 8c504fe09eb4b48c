import type { ReportedSource } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { SourceRecord } from '../ports/source-records.js';
import type { Recipe } from '../recipe/recipe.js';

/** Returns the report of the upstream sources, in recipe order. */
export function reportSources({ sources }: Recipe, records: readonly SourceRecord[]): ReportedSource[] {
  return sources.flatMap(({ name, catalog }) => {
    if (catalog === undefined) return [];
    const record = records.find(({ source }) => source === name);
    return [record === undefined ? missingSource(name, catalog.url) : reportSource(record)];
  });
}

/** The current state of a source. */
export function reportSource({ source, url, failure, copy }: SourceRecord): ReportedSource {
  const former =
    copy?.formerUrl === undefined ? '' : `; the copy from ${copy.formerUrl} is used until a sync succeeds`;
  const reason = failure === undefined ? {} : { reason: failure.message + former };
  if (copy === undefined) return { ...missingSource(source, url), ...reason };
  return {
    source,
    url,
    state: failure === undefined ? 'current' : 'stale',
    digest: copy.digest,
    ...defined({ serial: copy.snapshot?.serial }),
    ...reason,
    invalid: copy.invalid,
    invalidEntries: copy.invalidEntries,
    ...defined({
      completed: copy.completed,
      completedEntries:
        copy.completed === undefined ? undefined : (copy.completedEntries ?? copy.completed.length),
    }),
  };
}

function missingSource(source: string, url: string): ReportedSource {
  return { source, url, state: 'missing', invalid: [], invalidEntries: 0 };
}
