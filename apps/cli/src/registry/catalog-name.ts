import { KrmhubError } from '@krmhub/schema/error';

const CATALOG_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function isCatalogName(text: string): boolean {
  return CATALOG_NAME.test(text);
}

/** A serial, or the digest of a snapshot's catalog.yaml. */
export function isSnapshotReference(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text) || /^sha256:[a-f0-9]{64}$/.test(text);
}

/** What a registry answers about a catalog; where it is not there, the way out is a command and no address. */
export async function withCatalogHint<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'not-found') throw error;
    throw new KrmhubError(error.code, error.message, {
      hint: '`krmhub catalog list` shows the catalogs, `krmhub catalog history NAME` the snapshots of one.',
      cause: error,
    });
  }
}
