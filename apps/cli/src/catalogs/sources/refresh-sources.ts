import type { RegistryClient } from '@krmhub/api/client';
import type { Source } from '@krmhub/api/model';
import { runInParallel } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../../io/io.js';
import { plural } from '../../io/text.js';
import { SourceProgress } from '../source-progress.js';
import { hintFor } from './source-hints.js';

/** Requests at once; each is open until its source was asked. */
const PARALLEL = 8;

/** What came of asking sources. */
export interface RefreshedSources {
  /** As they were found, in the order of the names. */
  sources: Source[];
  /** Names of those that could not be had, or not seen to the end. */
  failed: string[];
}

/** Has a registry ask sources of a catalog, and tells of each when it was asked. */
export async function refreshSources(
  io: Io,
  client: RegistryClient,
  catalog: string,
  names: readonly string[],
): Promise<RefreshedSources> {
  const progress = new SourceProgress(io, 'asking');
  const found = new Map<string, Source>();
  const failed = new Set<string>();
  await runInParallel(names, PARALLEL, async (name) => {
    await progress.begin(name);
    try {
      const source = await client.refreshSource(catalog, name);
      found.set(name, source);
      if (source.state !== 'current') failed.add(name);
      await tellAsked(io, progress, source);
    } catch (error) {
      // Of one source; what is wrong with the token or the registry is wrong with all.
      const isOne = error instanceof KrmhubError && ['unavailable', 'not-found'].includes(error.code);
      if (!isOne) throw error;
      failed.add(name);
      await progress.fail(name, error);
    }
  });
  return {
    sources: names.flatMap((name) => found.get(name) ?? []),
    failed: names.filter((one) => failed.has(one)),
  };
}

/** What was found when a source was asked. */
export async function tellAsked(io: Io, progress: SourceProgress, source: Source): Promise<void> {
  if (source.state === 'current') return progress.end(source.source, described(source));
  const message = source.message ?? 'it was not asked';
  return progress.fail(source.source, { message, hint: hintFor(source, io.now()) });
}

function described({ copy }: Source): string {
  if (copy === undefined) return 'asked';
  const unusable = copy.invalidEntries === 0 ? '' : `, ${copy.invalidEntries} unusable`;
  const serial = copy.serial === undefined ? '' : `, snapshot ${copy.serial}`;
  return `${plural(copy.entries, 'entry', 'entries')}${unusable}${serial}`;
}
