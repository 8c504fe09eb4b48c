import type { FunctionName, ReportedSource } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { SnapshotSource } from '../ports/records.js';
import type { SourceRecord } from '../ports/source-records.js';
import type { Recipe } from '../recipe/recipe.js';

/** Returns the report of the upstream sources for the record of a snapshot, in recipe order. */
export function snapshotSources(recipe: Recipe, records: readonly SourceRecord[]): SnapshotSource[] {
  return reportSources(recipe, records).map((reported) => {
    const copy = records.find(({ source }) => source === reported.source)?.copy;
    return { ...reported, ...defined({ copyUrl: copy?.formerUrl }) };
  });
}

/** Returns the report of the upstream sources, in recipe order. */
export function reportSources({ sources }: Recipe, records: readonly SourceRecord[]): ReportedSource[] {
  return sources.flatMap(({ name, catalog }) => {
    if (catalog === undefined) return [];
    const record = records.find(({ source }) => source === name);
    return [record === undefined ? missingSource(name, catalog.url) : reportSource(record)];
  });
}

/** What of a source names functions. */
interface NamingSource {
  invalid: readonly { group?: string; kind?: string }[];
  invalidEntries: number;
  completed?: readonly { group?: string; kind?: string }[];
  completedEntries?: number;
  warnings?: readonly { group: string; like?: string }[];
}

/** Returns a source without the names of functions that a reader may not read. */
export function visibleSource(record: SourceRecord, sees: (name: FunctionName) => boolean): SourceRecord {
  return record.copy === undefined ? record : { ...record, copy: visibleReportedSource(record.copy, sees) };
}

/** As `visibleSource`, for a copy of a source, or a source in the stored report of a snapshot. */
export function visibleReportedSource<Source extends NamingSource>(
  source: Source,
  sees: (name: FunctionName) => boolean,
): Source {
  const visible = ({ group, kind = '' }: { group?: string; kind?: string }) =>
    group === undefined || sees({ group, kind });
  const { invalid, invalidEntries, completed, completedEntries = completed?.length ?? 0 } = source;
  const seen = { invalid: invalid.filter(visible), completed: completed?.filter(visible) };
  // A warning that does not say which group it names is for nobody: that group may be hidden by now.
  const warnings = source.warnings?.filter(
    ({ group, like }) => like !== undefined && visible({ group }) && visible({ group: like }),
  );
  return {
    ...source,
    invalid: seen.invalid,
    invalidEntries: invalidEntries - (invalid.length - seen.invalid.length),
    ...defined({
      completed: seen.completed,
      completedEntries: completed && completedEntries - (completed.length - seen.completed!.length),
      warnings,
    }),
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
      warnings: copy.warnings,
    }),
  };
}

function missingSource(source: string, url: string): ReportedSource {
  return { source, url, state: 'missing', invalid: [], invalidEntries: 0 };
}
