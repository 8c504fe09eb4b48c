import { KrmhubError } from '@krmhub/schema/error';

const CATALOG_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function isCatalogName(text: string): boolean {
  return CATALOG_NAME.test(text);
}

/** Reports whether a text is a serial, or the digest of the catalog.yaml of a snapshot. */
export function isSnapshotReference(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text) || /^sha256:[a-f0-9]{64}$/.test(text);
}

/** Replaces the hint of `not-found`, which names API paths, by commands. */
export async function withCatalogHint<T>(response: Promise<T>): Promise<T> {
  try {
    return await response;
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'not-found') throw error;
    throw new KrmhubError(error.code, error.message, {
      hint: 'List the catalogs with `krmhub catalog list`, or the snapshots with `krmhub catalog history NAME`.',
      cause: error,
    });
  }
}
