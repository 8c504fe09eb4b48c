import type { ReportedSource } from '@krmhub/schema';
import type { SourceRecord } from './source-records.js';

/** Whether a source's copy is what it had at the last look, an older one, or none. */
export function sourceState({ copy, failure }: SourceRecord): ReportedSource['state'] {
  if (copy === undefined) return 'missing';
  return failure === undefined ? 'current' : 'stale';
}

/** A source as reports show it. */
export function reportedSource(record: SourceRecord): ReportedSource {
  const { source, url, copy, failure } = record;
  return {
    source,
    url,
    state: sourceState(record),
    ...(copy === undefined ? {} : { digest: copy.digest }),
    ...(copy?.snapshot === undefined ? {} : { serial: copy.snapshot.serial }),
    ...(failure === undefined ? {} : { reason: failure.message }),
    invalid: copy?.invalid ?? [],
    invalidEntries: copy?.invalidEntries ?? 0,
  };
}
