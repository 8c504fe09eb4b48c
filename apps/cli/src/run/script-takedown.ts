import { parseReference } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { escapeControls } from '../io/text.js';
import { type Cache, openCache } from '../resolve/cache/cache.js';

/** Milliseconds for which a script runs from the cache without a request to its registry. */
const FRESH_MS = 3_600_000;
/** Milliseconds to wait for the registry: a build must not fail or wait because it is away. */
const PATIENCE_MS = 2_000;

export interface PinnedScript {
  /** `oci://…`; scripts of other places are never taken down. */
  reference: string;
  sha256: Digest;
}

/**
 * Returns why the registry of a script took it down; undefined if it did not, or does not answer. The answer is cached
 * for an hour.
 */
export async function scriptTakedown(
  io: Io,
  cache: Cache,
  { reference, sha256 }: PinnedScript,
): Promise<string | undefined> {
  if (!reference.startsWith('oci://')) return undefined;
  const record = await cache.readRecord('scripts', sha256);
  if (typeof record?.takenDown === 'string') return record.takenDown;
  const now = io.now().getTime();
  if (typeof record?.checkedAt === 'number' && Math.abs(now - record.checkedAt) < FRESH_MS) return undefined;
  const takenDown = await askRegistry(io, { reference, sha256 });
  await recordScript(io, cache, sha256, takenDown);
  return takenDown;
}

/** Records that a registry has a script, or why it took it down. */
export async function recordScript(
  io: Pick<Io, 'now'>,
  cache: Cache,
  sha256: Digest,
  takenDown?: string,
): Promise<void> {
  const record = { checkedAt: io.now().getTime(), ...(takenDown === undefined ? {} : { takenDown }) };
  await cache.writeRecord('scripts', sha256, record).catch(() => undefined);
}

async function askRegistry(io: Io, { reference, sha256 }: PinnedScript): Promise<string | undefined> {
  const { createOciClient } = await import('../registry/connect-oci.js');
  try {
    const { registry, repository } = parseReference(reference.slice('oci://'.length));
    const client = createOciClient(io, { signal: AbortSignal.timeout(PATIENCE_MS) });
    await client.manifest({ registry, repository, digest: sha256 });
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'gone') return error.message;
  }
  return undefined;
}

/** Throws `gone` for a script of the cache that was taken down. */
export async function refuseTakenDown(
  io: Io,
  cache: Cache,
  name: string,
  script: PinnedScript,
): Promise<void> {
  const reason = await scriptTakedown(io, cache, script);
  if (reason === undefined) return;
  throw new KrmhubError('gone', escapeControls(`cannot run ${name}: its script was taken down: ${reason}`), {
    hint: 'Nothing was run. Use another release: krmhub plugins update, krmhub kpt sync, or krmhub lock --upgrade.',
  });
}

/** Opens the cache for `scriptTakedown`, for commands that check many scripts. */
export async function scriptTakedowns(
  io: Io,
  scripts: readonly PinnedScript[],
): Promise<Map<Digest, string>> {
  const found = new Map<Digest, string>();
  if (scripts.length === 0) return found;
  const cache = await openCache(io);
  try {
    for (const script of scripts) {
      const reason = await scriptTakedown(io, cache, script);
      if (reason !== undefined) found.set(script.sha256, escapeControls(reason));
    }
  } finally {
    await cache.close();
  }
  return found;
}
