import { fillPath } from '@krmhub/api/paths';
import { renderEntry } from '@krmhub/catalog/render/render';
import { lockedRuntimeProblem } from '@krmhub/catalog/resolve/locked-runtime';
import type { PinnedRuntime } from '@krmhub/catalog/resolve/runtimes';
import type { FunctionDefinition } from '@krmhub/schema/definition';
import { type Digest, sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { RegistryRelease } from './release/registry-release.js';
import type { SearchContext } from './search-context.js';

/** What a lock file says of a function. */
export interface LockedClaim {
  /** API version of the functionConfig. */
  version: string;
  definition: Digest;
  runtime: PinnedRuntime;
  /** The release in the registry of the catalog; absent for other catalogs. */
  release?: RegistryRelease;
  /** What the catalog has now, which may be another definition. */
  entry?: FunctionDefinition;
}

/**
 * Checks that a locked runtime is the one of the definition that the lock file names by its digest, so that whoever changes the lock file
 * cannot choose what runs. Offline, only a definition that is in the cache can be checked. Throws `untrusted`.
 */
export async function checkLockedRuntime(context: SearchContext, claim: LockedClaim): Promise<void> {
  const definition = await findDefinition(context, claim);
  if (definition === undefined) return;
  const version = definition.versions.find(({ name }) => name === claim.version);
  const problem =
    version === undefined
      ? `its definition has no API version ${claim.version}`
      : lockedRuntimeProblem(claim.runtime, version.runtime);
  if (problem === undefined) return;
  throw new KrmhubError('untrusted', `what is locked is not what ${claim.definition} names: ${problem}`, {
    hint: 'Find out who changed the lock file, or lock the function again: krmhub lock --upgrade KIND',
  });
}

/** Stores the definition of an entry, by which a lock file is checked later. What cannot be stored is not. */
export async function keepDefinition(
  { writer, fetcher }: SearchContext,
  definition: Digest,
  { yaml, release }: { yaml: string; release?: RegistryRelease },
): Promise<void> {
  if (sha256(yaml) === definition)
    await writer.write(async (cache) => void (await cache.writeBlob(Buffer.from(yaml))));
  else if (release !== undefined && !fetcher.isOffline)
    await fetchDefinition(fetcher, release).catch(() => undefined);
}

/** Undefined for a definition that cannot be had any more. */
async function findDefinition(
  { cache, fetcher }: SearchContext,
  { definition, release, entry }: LockedClaim,
): Promise<FunctionDefinition | undefined> {
  if (entry !== undefined && renderEntry(entry).digest === definition) return entry;
  const known = await cache.readBlob(definition, DOCUMENT_LIMITS.maxDefinitionBytes);
  if (known !== undefined) return parseDefinition(known, release !== undefined);
  if (release === undefined || fetcher.isOffline) return undefined;
  const bytes = await fetchDefinition(fetcher, release);
  if (sha256(bytes) === definition) return parseDefinition(bytes, true);
  throw new KrmhubError('untrusted', `got the definition ${sha256(bytes)}, locked is ${definition}`, {
    hint: 'Ask the operator of the registry: a release never changes.',
  });
}

async function fetchDefinition(
  fetcher: SearchContext['fetcher'],
  release: RegistryRelease,
): Promise<Uint8Array> {
  const address = { type: 'http' as const, url: release.registry + fillPath('definition', release) };
  return (await fetcher.fetchBytes({ address, maxBytes: DOCUMENT_LIMITS.maxDefinitionBytes })).bytes;
}

/** Parses a definition as it was published, or an entry in normal form. */
async function parseDefinition(bytes: Uint8Array, isRelease: boolean): Promise<FunctionDefinition> {
  const read = isRelease
    ? (await import('./release/published-definition.js')).readPublishedDefinition(bytes)
    : (await import('@krmhub/catalog/resolve/entries/read-entry')).readEntryBytes(
        bytes,
        'yaml',
        'definition',
      );
  if ('definition' in read) return read.definition;
  throw new KrmhubError('untrusted', `the locked definition ${sha256(bytes)} is not valid: ${read.problem}`, {
    hint: 'Lock the function again: krmhub lock --upgrade KIND',
  });
}
