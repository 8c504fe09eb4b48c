import { type AccessStore, type AppliedDocument, RevisionConflict } from '@krmhub/catalog';
import { type EventType, KrmhubError, sha256 } from '@krmhub/schema';
import type { Caller } from '../http/auth/caller.js';

/** Names of a document in messages: what it is, and the command that prints it. */
export interface DocumentWords {
  what: string;
  show: string;
}

/**
 * Rejects with `conflict` if the stored text is not the one that the caller knows by its digest; without a digest, any
 * text may be replaced.
 */
export function refuseOtherText(
  { what, show }: DocumentWords,
  stored: AppliedDocument | undefined,
  replaces: string | undefined,
): void {
  if (replaces === undefined || replaces === sha256(stored?.text ?? '')) return;
  throw new KrmhubError('conflict', `${what} changed meanwhile`, {
    hint: `Nothing was changed. Compare with \`${show}\`, then try again.`,
  });
}

/** Stores a text in place of the stored one. Rejects with `unavailable` if another one was stored since it was read. */
export async function replaceDocument(
  { what, show }: DocumentWords,
  stored: AppliedDocument | undefined,
  {
    text,
    at,
    by,
    origin,
    event,
  }: Caller & {
    text: string;
    at: string;
    event: { type: EventType; reason: string };
  },
  store: (change: Omit<Parameters<AccessStore['applyAccess']>[0], 'teams'>) => Promise<unknown>,
): Promise<void> {
  try {
    await store({
      text,
      appliedAt: at,
      appliedBy: by,
      expectedRevision: stored?.revision ?? 0,
      origin,
      event: { ...event, at, by },
    });
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
    throw new KrmhubError('unavailable', `${what}: concurrent update`, {
      hint: `Compare with \`${show}\`, then apply yours again.`,
      cause: error,
    });
  }
}
