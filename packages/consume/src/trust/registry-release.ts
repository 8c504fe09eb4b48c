import { fillPath } from '@krmhub/api/paths';
import type { FunctionName } from '@krmhub/schema/definition';
import type { Digest } from '@krmhub/schema/digest';
import { formatReplacement, type Replacement } from '@krmhub/schema/documents/replacement';
import { KrmhubError } from '@krmhub/schema/error';
import { SourceFailure } from '@krmhub/sources/failure';
import type { DocumentFetcher } from '../cache/fetch-document.js';
import { RESOLVE_LIMITS } from '../limits.js';

/** A release in the registry of a catalog. */
export interface RegistryRelease extends FunctionName {
  /** URL of the registry, without a slash at its end. */
  registry: string;
  release: string;
  /** Digest of the exact bytes of its definition. */
  definition: Digest;
}

/** What a registry says of a release now. */
export interface ReleaseState {
  /** Reasons. */
  yanked?: string;
  deprecated?: string;
  /** What to use instead of a deprecated release, as `GROUP/KIND[@RANGE]`. */
  replacement?: string;
}

/**
 * Asks the registry whether a release was yanked or deprecated. Throws `gone` for one that was taken down, and for
 * other bytes of the release, which a registry never has: a release does not change.
 */
export async function readReleaseState(
  fetcher: DocumentFetcher,
  release: RegistryRelease,
): Promise<ReleaseState> {
  const { registry, definition } = release;
  const name = formatRelease(release);
  const address = { type: 'http' as const, url: registry + fillPath('release', release) };
  let value: Record<string, unknown>;
  try {
    const { bytes } = await fetcher.fetchBytes({ address, maxBytes: RESOLVE_LIMITS.maxEntryBytes });
    value = readObject(bytes);
  } catch (error) {
    if (error instanceof SourceFailure && error.responseCode === 'gone') {
      throw new KrmhubError('gone', `${name} was taken down by its registry`, {
        hint: 'Use another release. Show the reason: krmhub show GROUP/KIND'.replace(
          'GROUP/KIND',
          `${release.group}/${release.kind}`,
        ),
        cause: error,
      });
    }
    throw error;
  }
  if (value.digest !== definition) {
    throw new KrmhubError(
      'untrusted',
      `${name} is now ${String(value.digest)} in its registry, expected ${definition}`,
      {
        hint: 'Ask the operator of the registry: a release never changes.',
      },
    );
  }
  return {
    ...readReason('yanked', value.yanked),
    ...readReason('deprecated', value.deprecated),
    ...readReplacement(value.deprecated),
  };
}

export function formatRelease({ group, kind, release }: FunctionName & { release: string }): string {
  return `${group}/${kind}@${release}`;
}

function readReason(name: 'yanked' | 'deprecated', value: unknown): ReleaseState {
  const { reason } = (value ?? {}) as { reason?: unknown };
  return value === undefined ? {} : { [name]: typeof reason === 'string' ? reason : '(no reason)' };
}

function readReplacement(deprecated: unknown): ReleaseState {
  const { replacement } = (deprecated ?? {}) as { replacement?: unknown };
  const { group, kind, releases } = (replacement ?? {}) as Partial<Record<keyof Replacement, unknown>>;
  if (typeof group !== 'string' || typeof kind !== 'string') return {};
  const range = typeof releases === 'string' ? { releases } : {};
  return { replacement: formatReplacement({ group, kind, ...range }) };
}

function readObject(bytes: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new KrmhubError('unreachable', 'the registry did not respond with JSON');
}
