import type { OciClient } from '@krmhub/oci';
import { type Digest, isDigest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import type { Network } from '../../ports.js';

/** Tags that a message lists. */
const SHOWN_TAGS = 5;

/**
 * Returns the image with the newest tag that a constraint allows, from the tags of its registry. Throws `not-found`
 * without such a tag.
 */
export async function newestImage(
  io: Network,
  { repository, constraint }: { repository: string; constraint: string },
  { offline }: { offline: boolean },
): Promise<string> {
  const failed = (code: KrmhubError['code'], reason: string, hint: string, cause?: unknown) =>
    new KrmhubError(code, `cannot resolve the tag "${constraint}" of ${repository}: ${reason}`, {
      hint,
      cause,
    });
  if (offline) {
    const hint = 'Use one exact tag, or run the command without --offline.';
    throw failed('unavailable', 'it is a version constraint, and --offline is set', hint);
  }
  let tags: string[];
  try {
    tags = await imageTags(await io.fetch.openOci(), repository);
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    throw failed(error.code, error.message, error.hint ?? 'Use one exact tag.', error);
  }
  const { newestTag } = await import('@krmhub/schema/version-constraint');
  const tag = newestTag(tags, constraint);
  if (tag !== undefined) return `${repository}:${tag}`;
  const shown = `${tags.length > SHOWN_TAGS ? '…' : ''}${tags.slice(-SHOWN_TAGS).join(', ')}`;
  const known = tags.length === 0 ? 'it has no tags' : `none of its ${tags.length} tags matches: ${shown}`;
  throw failed('not-found', known, 'Correct the constraint, or use one exact tag.');
}

/** Lists the tags of a repository, as an image names it. Rejects with KrmhubErrors. */
export async function imageTags(client: OciClient, repository: string): Promise<string[]> {
  const { parseReference } = await import('@krmhub/oci');
  return client.tags(parseReference(`${withHost(repository)}:latest`));
}

/** Returns the digest that a tag of a repository has now. Rejects with KrmhubErrors. */
export async function tagDigest(
  client: OciClient,
  repository: string,
  tag: string,
): Promise<Digest | undefined> {
  const { parseReference } = await import('@krmhub/oci');
  const digest = await client.resolveDigest(parseReference(`${withHost(repository)}:${tag}`));
  return digest !== undefined && isDigest(digest) ? digest : undefined;
}

/** As container engines do. */
function withHost(repository: string): string {
  const [first = ''] = repository.split('/', 1);
  if (repository.includes('/') && (first === 'localhost' || /[.:]/.test(first))) return repository;
  return `docker.io/${repository.includes('/') ? repository : `library/${repository}`}`;
}
