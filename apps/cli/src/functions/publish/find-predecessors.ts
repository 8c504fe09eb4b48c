import type { RegistryClient } from '@krmhub/api/client';
import { findPredecessor } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { Submission } from '../../documents/read-definitions.js';

/** Maps submissions to the previous release of the same function in the same command. */
export async function findPredecessors(
  client: RegistryClient,
  submissions: readonly Submission[],
): Promise<Map<Submission, Submission>> {
  const functions = new Map<string, Submission[]>();
  for (const submission of submissions) {
    const name = `${submission.group}/${submission.kind}`;
    functions.set(name, [...(functions.get(name) ?? []), submission]);
  }
  const found = new Map<Submission, Submission>();
  for (const siblings of functions.values()) {
    if (siblings.length < 2) continue;
    const published = await publishedReleases(client, siblings[0]!);
    const known = new Set(published.map(({ release }) => release));
    const releases = [...published, ...siblings.filter(({ release }) => !known.has(release))];
    for (const submission of siblings) {
      const release = findPredecessor({ releases }, submission.release);
      const before = siblings.find((sibling) => sibling.release === release);
      if (before !== undefined) found.set(submission, before);
    }
  }
  return found;
}

async function publishedReleases(
  client: RegistryClient,
  { group, kind }: Submission,
): Promise<Awaited<ReturnType<RegistryClient['function']>>['releases']> {
  try {
    return (await client.function(group, kind)).releases;
  } catch (error) {
    if (error instanceof KrmhubError && (error.code === 'not-found' || error.code === 'gone')) return [];
    throw error;
  }
}
