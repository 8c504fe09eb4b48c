import { type Change, OciError, QuotaExceeded } from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import type { Caller } from '../http/auth/caller.js';

export interface ChangeDeps {
  clock: () => Date;
  config: {
    /** Limit for the blobs and manifests of one repository; absent or 0 for no limit. */
    repositoryMebibytes?: number;
  };
}

/** Returns the caller and time of a change to a repository, and its quota in bytes. */
export function newChange({ clock, config }: ChangeDeps, caller: Caller): Change {
  const quota = config.repositoryMebibytes ?? 0;
  return {
    at: clock().toISOString(),
    ...caller,
    ...defined({ quota: quota > 0 ? quota * 1_048_576 : undefined }),
  };
}

/** Runs a change of a repository, and translates a quota error. */
export async function withinQuota<Result>(repository: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof QuotaExceeded) throw quotaRefusal(repository, error);
    throw error;
  }
}

export function quotaRefusal(
  repository: string,
  { bytes, quota }: { bytes: number; quota: number },
): OciError {
  return new OciError('DENIED', `repository ${repository}: quota exceeded: ${bytes} of ${quota} bytes`, {
    hint: 'Delete manifests by digest, not by tag, and wait two hours. Or ask the operator to raise KRMHUB_REPOSITORY_MEBIBYTES.',
    detail: { bytes, quota },
  });
}
