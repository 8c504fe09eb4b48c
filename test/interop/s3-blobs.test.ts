import { appendFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { openS3 } from '../../apps/registry/src/store/blobs/s3/open-s3.js';
import { blobStoreContract } from '../contracts/blob-store.js';
import { hasS3Server, S3_CREDENTIALS, type S3Server, startS3Server } from './s3-server.js';

describe.skipIf(!hasS3Server)('an S3 server (needs versitygw)', () => {
  let folder: string;
  let server: S3Server;
  let opened = 0;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'krmhub-s3-'));
    server = await startS3Server(folder);
  });
  afterAll(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  for (const [name, cacheBytes] of [
    ['S3 with a cache', 1_000_000_000],
    ['S3 with a cache that is too small for most blobs', 1_000_000],
    ['S3 without a cache', 0],
  ] as const) {
    blobStoreContract(name, async () => {
      opened += 1;
      const prefix = `contract/${opened}`;
      const cacheFolder = path.join(folder, 'cache', String(opened));
      const open = async (isNew: boolean) => {
        const { area } = await openS3({
          place: server.place(prefix),
          credentials: async () => S3_CREDENTIALS,
          owner: { id: prefix, isNew },
          cacheFolder,
          cacheBytes,
          redirect: false,
        });
        return area('artifacts');
      };
      const objects = path.join(server.objects, prefix, 'artifacts/sha256');
      const aside = path.join(folder, 'aside', String(opened));
      return {
        store: await open(true),
        reopen: () => open(false),
        damage: async (digest) => {
          const hex = digest.slice('sha256:'.length);
          await appendFile(path.join(objects, hex.slice(0, 2), hex), '!');
          if (cacheBytes > 0)
            await appendFile(path.join(cacheFolder, `artifacts-${hex}`), '!').catch(() => undefined);
        },
        remove: async () => {
          await mkdir(path.dirname(aside), { recursive: true });
          await rename(server.objects, aside);
        },
        dispose: async () => {
          await rename(aside, server.objects).catch(() => undefined);
        },
      };
    });
  }
});
