import type { ReportedSource } from '@krmhub/schema';
import type { SourceRecord } from './source-records.js';

/** Whether a source's copy is what it had at the last look, an older one, or none. */
export function sourceState({ copy, failure }: SourceRecord): ReportedSource['state'] {
  if (copy === undefined) return 'missing';
  return failure === undefined ? 'current' : 'stale';
}
