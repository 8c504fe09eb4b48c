import type { RegistryClient } from '@krmhub/api/client';
import type { Source } from '@krmhub/api/model';
import { runInParallel } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { plural } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { SourceProgress } from '../source-progress.js';
import { hintFor } from './source-hints.js';

/** Concurrent requests; each stays open until its source is synced. */
const PARALLEL = 8;

/** The result of a sync. */
export interface PolledSources {
  /** The sources after the sync, in the order of the names. */
  sources: Source[];
  /** Names of the sources that failed or did not finish. */
  failed: string[];
}

/** Has a registry sync sources of a catalog, and prints the result of each. */
export async function pollSources(
  io: Io,
  client: RegistryClient,
  catalog: string,
  names: readonly string[],
): Promise<PolledSources> {
  const progress = new SourceProgress(io, 'syncing');
  const found = new Map<string, Source>();
  const failed = new Set<string>();
  await runInParallel(names, PARALLEL, async (name) => {
    await progress.begin(name);
    try {
      const source = await client.refreshSource(catalog, name);
      found.set(name, source);
      if (source.state !== 'current') failed.add(name);
      await reportPoll(io, progress, source);
    } catch (error) {
      // Other errors, for example of the token, affect all sources.
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

/** Prints the result of the last sync of a source. */
export async function reportPoll(io: Io, progress: SourceProgress, source: Source): Promise<void> {
  if (source.state === 'current') return progress.end(source.source, describeCopy(source));
  const message = source.message ?? 'not synced yet';
  return progress.fail(source.source, { message, hint: hintFor(source, io.now()) });
}

function describeCopy({ copy }: Source): string {
  if (copy === undefined) return 'synced';
  const invalid = copy.invalidEntries === 0 ? '' : `, ${copy.invalidEntries} invalid`;
  const { completedEntries = 0 } = copy;
  const completed = completedEntries === 0 ? '' : `, ${completedEntries} completed by defaults`;
  const serial = copy.serial === undefined ? '' : `, snapshot ${copy.serial}`;
  return `${plural(copy.entries, 'entry', 'entries')}${completed}${invalid}${serial}`;
}
