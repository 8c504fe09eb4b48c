import { compareApiVersions, type FunctionDefinition, runtimeKinds } from '@krmhub/schema';
import type { ReleaseSummary } from '../ports/records.js';

/** The facts of a definition for search and filters. */
export function definitionFacts(
  definition: FunctionDefinition,
): Pick<ReleaseSummary, 'versions' | 'tags' | 'publisher' | 'runtimes' | 'licenses'> {
  const { versions, tags, publisher } = definition;
  return {
    versions: versions.map(({ name }) => name).sort(compareApiVersions),
    tags: [...new Set(tags)],
    publisher,
    runtimes: runtimeKinds(definition),
    licenses: [...new Set(versions.map(({ license }) => license))],
  };
}
