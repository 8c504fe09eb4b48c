import type { S3Client } from './client.js';
import { deleteObject, getObject, listObjects, putObject } from './objects.js';
import { S3Error, translateS3Error } from './s3-error.js';

/** Bytes by names that are used once: of uploads that are not complete, and of copies of the search index. */
export interface PieceStore {
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Rejects with `unavailable` if it does not exist. */
  read(name: string): AsyncIterable<Uint8Array>;
  /** Deleting a missing one is not an error. */
  delete(name: string): Promise<void>;
  list(): AsyncIterable<{ name: string; written: Date }>;
}

/** What has pieces. They are no blobs: no client can name one. */
export type PieceArea = 'uploads' | 'search';

export function s3Pieces(client: S3Client, name: PieceArea): PieceStore {
  const area = `${name}/`;
  const translated = <Result>(work: Promise<Result>): Promise<Result> =>
    work.catch((error: unknown) => {
      throw translateS3Error(client.place, error);
    });
  return {
    put: async (name, bytes) => void (await translated(putObject(client, area + name, bytes))),
    async *read(name) {
      const found = await translated(getObject(client, area + name));
      let size = 0;
      try {
        for await (const bytes of found?.pieces ?? []) {
          size += bytes.byteLength;
          yield bytes;
        }
        if (size !== found?.size) throw new S3Error(`a piece in ${area} is missing or incomplete`);
      } catch (error) {
        throw translateS3Error(client.place, error);
      }
    },
    delete: (name) => translated(deleteObject(client, area + name)),
    async *list() {
      try {
        for await (const { key, written } of listObjects(client, area)) {
          yield { name: key.slice(area.length), written };
        }
      } catch (error) {
        throw translateS3Error(client.place, error);
      }
    },
  };
}
