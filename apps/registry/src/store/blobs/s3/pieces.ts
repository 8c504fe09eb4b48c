import type { S3Client } from './client.js';
import { deleteObject, getObject, listObjects, putObject } from './objects.js';
import { S3Error, translateS3Error } from './s3-error.js';

/** Bytes of uploads that are not complete, by names that are used once. */
export interface PieceStore {
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Rejects with `unavailable` if it does not exist. */
  read(name: string): AsyncIterable<Uint8Array>;
  /** Deleting a missing one is not an error. */
  delete(name: string): Promise<void>;
  list(): AsyncIterable<{ name: string; written: Date }>;
}

const AREA = 'uploads/';

export function s3Pieces(client: S3Client): PieceStore {
  const translated = <Result>(work: Promise<Result>): Promise<Result> =>
    work.catch((error: unknown) => {
      throw translateS3Error(client.place, error);
    });
  return {
    put: async (name, bytes) => void (await translated(putObject(client, AREA + name, bytes))),
    async *read(name) {
      const found = await translated(getObject(client, AREA + name));
      let size = 0;
      try {
        for await (const bytes of found?.pieces ?? []) {
          size += bytes.byteLength;
          yield bytes;
        }
        if (size !== found?.size) throw new S3Error('a piece of an upload is missing or incomplete');
      } catch (error) {
        throw translateS3Error(client.place, error);
      }
    },
    delete: (name) => translated(deleteObject(client, AREA + name)),
    async *list() {
      try {
        for await (const { key, written } of listObjects(client, AREA)) {
          yield { name: key.slice(AREA.length), written };
        }
      } catch (error) {
        throw translateS3Error(client.place, error);
      }
    },
  };
}
