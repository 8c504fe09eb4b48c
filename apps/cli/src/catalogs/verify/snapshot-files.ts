import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { RegistryClient } from '@krmhub/api/client';
import { diskError } from '@krmhub/consume/files/read-file';
import { fetchBundle, missingHint } from '@krmhub/consume/trust/registry-snapshot';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { SIGNING_LIMITS } from '@krmhub/signing/limits';
import type { CatalogAddress } from './address.js';

export const BUNDLE = 'snapshot.sigstore.json';
/** The signed files, in the order of verification. */
export const SIGNED_FILES = ['snapshot.json', 'catalog.yaml'] as const;
export type SignedFile = (typeof SIGNED_FILES)[number];

/** The files of a snapshot, from a registry or a folder. */
export interface SnapshotFiles {
  /** The bundle, or why it is missing and what to do. */
  bundle(): Promise<Uint8Array | { missing: string; hint: string }>;
  file(name: SignedFile, serial: number): Promise<Uint8Array>;
}

const NO_FOLDER = 'Use the folder of an earlier run: krmhub catalog verify CATALOG --out FOLDER';

export function registryFiles(client: RegistryClient, { name, serial }: CatalogAddress): SnapshotFiles {
  return {
    async bundle() {
      const bundle = await fetchBundle(client, name, serial === undefined ? undefined : String(serial));
      return bundle instanceof Uint8Array ? bundle : { ...bundle, hint: missingHint(name) };
    },
    file: async (file, at) =>
      file === 'snapshot.json'
        ? (await client.snapshotDocument(name, String(at))).bytes
        : (await client.catalogDocument(name, { snapshot: String(at) })).bytes,
  };
}

/** Reads the files that an earlier verification wrote. */
export function folderFiles(folder: string): SnapshotFiles {
  const read = async (name: string, maxBytes: number): Promise<Uint8Array> => {
    const file = path.join(folder, name);
    try {
      const { size } = await stat(file);
      if (size > maxBytes) {
        throw new KrmhubError('too-large', `${file} exceeds ${maxBytes} bytes`);
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
          return { missing: `no ${BUNDLE} in ${folder}`, hint: NO_FOLDER };
        }
        throw error;
      }
    },
    file: (name) => read(name, DOCUMENT_LIMITS.maxCatalogBytes),
  };
}
