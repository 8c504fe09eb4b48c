import path from 'node:path';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { Environment, WorkingFolder } from '../ports.js';
import { hasTrustFile } from './has-trust-file.js';

/** The catalogs that commands use without options (KEP-2906, Stories 4 and 5). */
export interface DefaultCatalogs {
  official?: { reference: string; by: string };
  /** Trusted where a package names them. */
  catalogs: readonly string[];
}

/** How messages name the trust file as the reason for trust. */
export const TRUST_FILE = 'the trust file';

/**
 * Reads KRMHUB_OFFICIAL_CATALOG and the CatalogTrusts of the trust file. Throws `untrusted` if the file cannot be read,
 * and `usage` for a variable with a relative path, which would name another file in each folder.
 */
export async function readDefaultCatalogs(io: Environment & WorkingFolder): Promise<DefaultCatalogs> {
  const named = io.env.KRMHUB_OFFICIAL_CATALOG ?? '';
  if (named !== '') await refuseRelativePath(named);
  const entries = (await hasTrustFile(io)) ? await readEntries(io) : [];
  const listed = entries.find(({ official }) => official !== undefined)?.official;
  const official =
    named !== ''
      ? { reference: named, by: 'KRMHUB_OFFICIAL_CATALOG' }
      : listed !== undefined
        ? { reference: listed, by: TRUST_FILE }
        : undefined;
  return {
    ...defined({ official }),
    catalogs: entries.flatMap(({ catalogs }) => catalogs),
  };
}

async function readEntries(io: Environment & WorkingFolder) {
  const { requireTrustStore } = await import('./trust-file.js');
  return (await requireTrustStore(io)).trust.catalogTrust;
}

async function refuseRelativePath(text: string): Promise<void> {
  const { readSourceAddress } = await import('@krmhub/catalog/recipe/source-address');
  const read = path.isAbsolute(text) ? undefined : readSourceAddress(text);
  if (read?.ok !== true || read.address.type !== 'file') return;
  throw new KrmhubError('usage', 'KRMHUB_OFFICIAL_CATALOG is a relative path', {
    hint: 'Use a URL, a git or OCI reference, the name of a catalog, or an absolute path.',
  });
}
