import type { ReleaseSummary } from '@krmhub/api/model';
import { formatReplacement } from '@krmhub/schema/documents/replacement';

/** Returns why a release is yanked or deprecated; empty for other releases. */
export function releaseNote({ yanked, deprecated }: ReleaseSummary): string {
  return [
    ...(yanked === undefined ? [] : [`yanked: ${yanked.reason}`]),
    ...(deprecated === undefined ? [] : [describeDeprecation(deprecated)]),
  ].join('; ');
}

function describeDeprecation({ reason, replacement }: NonNullable<ReleaseSummary['deprecated']>): string {
  const use = replacement === undefined ? '' : `use ${formatReplacement(replacement)}`;
  return reason === use ? `deprecated: ${use}` : `deprecated: ${reason}${use === '' ? '' : `; ${use}`}`;
}
