import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { type RegistryClient, RegistryError, UnexpectedResponse } from '@krmhub/api/client';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { SIGNING_LIMITS } from '@krmhub/signing/limits';
import { diskError } from '../../files/read-file.js';
import type { CatalogAddress } from './address.js';

export const BUNDLE = 'snapshot.sigstore.json';
/** What is held against the signature, in this order. */
export const SIGNED_FILES = ['snapshot.json', 'catalog.yaml'] as const;
export type SignedFile = (typeof SIGNED_FILES)[number];

/** Where a snapshot's files are read from. */
export interface SnapshotFiles {
  /** In words why there is none and what to do, where that is so. */
  bundle(): Promise<Uint8Array | { missing: string; hint: string }>;
  file(name: SignedFile, serial: number): Promise<Uint8Array>;
}

const ABSENT =
  'Nothing was written. Look at the name (`krmhub catalog list`) and the serial (`krmhub catalog history`); where they are right, ask who runs the registry: one of this version signs every snapshot.';
const NO_FOLDER = 'Name the folder that `krmhub catalog verify --out` wrote.';

export function filesOfRegistry(client: RegistryClient, { name, serial }: CatalogAddress): SnapshotFiles {
  return {
    async bundle() {
      try {
        return (await client.snapshotBundle(name, serial === undefined ? undefined : String(serial))).bytes;
      } catch (error) {
        // Whoever stands between may answer so: that nothing is there is no reason to trust it.
        const refused =
          (error instanceof RegistryError && (error.code === 'not-found' || error.code === 'gone')) ||
          (error instanceof UnexpectedResponse && (error.status === 404 || error.status === 410));
        if (refused) return { missing: `there is none: ${error.message}`, hint: ABSENT };
        throw error;
      }
    },
    file: async (file, at) =>
      file === 'snapshot.json'
        ? (await client.snapshotDocument(name, String(at))).bytes
        : (await client.catalogDocument(name, { snapshot: String(at) })).bytes,
  };
}

/** A folder that an earlier verification wrote. */
export function filesOfFolder(folder: string): SnapshotFiles {
  const read = async (name: string, maxBytes: number): Promise<Uint8Array> => {
    const file = path.join(folder, name);
    try {
      const { size } = await stat(file);
      if (size > maxBytes) {
        throw new KrmhubError('too-large', `${file} has more than ${maxBytes} bytes`);
      }
      return await readFile(file);
    } catch (error) {
      throw error instanceof KrmhubError ? error : diskError(error, `cannot read ${file}`);
    }
  };
  return {
    async bundle() {
      try {
        return await read(BUNDLE, SIGNING_LIMITS.maxBundleBytes);
      } catch (error) {
        if (
          error instanceof KrmhubError &&
          (error.cause as { code?: unknown } | undefined)?.code === 'ENOENT'
        ) {
          return { missing: `there is no ${BUNDLE} in ${folder}`, hint: NO_FOLDER };
        }
        throw error;
      }
    },
    file: (name) => read(name, DOCUMENT_LIMITS.maxCatalogBytes),
  };
}
