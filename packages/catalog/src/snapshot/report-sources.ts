import type { FunctionName, ReportedSource } from '@krmhub/schema';
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

/** Returns a source without the names of functions that a reader may not read. */
export function visibleSource(record: SourceRecord, sees: (name: FunctionName) => boolean): SourceRecord {
  if (record.copy === undefined) return record;
  const visible = ({ group, kind = '' }: { group?: string; kind?: string }) =>
    group === undefined || sees({ group, kind });
  const { invalid, invalidEntries, completed, completedEntries = completed?.length ?? 0 } = record.copy;
  const seen = { invalid: invalid.filter(visible), completed: completed?.filter(visible) };
  // A warning that does not say which group it names is for nobody: that group may be hidden by now.
  const warnings = record.copy.warnings?.filter(
    ({ group, like }) => like !== undefined && visible({ group }) && visible({ group: like }),
  );
  return {
    ...record,
    copy: {
      ...record.copy,
      invalid: seen.invalid,
      invalidEntries: invalidEntries - (invalid.length - seen.invalid.length),
      ...defined({
        completed: seen.completed,
        completedEntries: completed && completedEntries - (completed.length - seen.completed!.length),
        warnings,
      }),
    },
  };
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
      warnings: copy.warnings?.map(({ code, group, message }) => ({ code, group, message })),
    }),
  };
}

function missingSource(source: string, url: string): ReportedSource {
  return { source, url, state: 'missing', invalid: [], invalidEntries: 0 };
}
