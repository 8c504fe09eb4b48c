import { compareApiVersions, type FunctionDefinition, runtimeKinds } from '@krmhub/schema';
import type { RuntimeFacts } from '../ports/records.js';
import type { DefinitionFacts } from '../ports/release-parts.js';
import { unpinnedReferences } from '../render/unpinned-references.js';
import { runtimeAccess } from '../runtimes/runtimes.js';

/** The facts of a definition for search and filters. */
export function definitionFacts(definition: FunctionDefinition): DefinitionFacts {
  const { versions, tags, publisher } = definition;
  return {
    versions: versions.map(({ name }) => name).sort(compareApiVersions),
    tags: [...new Set(tags)],
    publisher,
    runtimes: runtimeKinds(definition),
    licenses: [...new Set(versions.map(({ license }) => license))],
  };
}

/** Returns what a definition may access, and whether it is pinned: the worst of all its API versions. */
export function runtimeFacts({ versions }: FunctionDefinition): RuntimeFacts {
  const access = runtimeAccess(...versions);
  return {
    ...(access === 'everything' ? { network: true, storage: true } : access),
    pinned: versions.every((version) => unpinnedReferences(version).length === 0),
  };
}
