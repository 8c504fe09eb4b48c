import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { BlobStore } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { Leader } from '../processes/leader.js';

type Copies = Pick<BlobStore, 'get'>;

/** What the leader, which alone has copies of the upstream catalogs, does for other processes. */
export function copyMethods(copies: Copies) {
  const pack = async (digest: Digest) => {
    const bytes = await copies.get(digest);
    return bytes && (await promisify(gzip)(bytes)).toString('base64');
  };
  // One at a time: a large copy needs several times its size in memory.
  let last: Promise<unknown> = Promise.resolve();
  return {
    'copies.get': ({ digest }: { digest: Digest }) => {
      const packed = last.then(() => pack(digest));
      last = packed.catch(() => undefined);
      return packed;
    },
  };
}

/** The copies of any process: its own, or those of the leader. */
export function sharedCopies(copies: Copies, leader: Leader): Copies {
  return {
    async get(digest) {
      const bytes = await copies.get(digest);
      if (bytes !== undefined || leader.isHere) return bytes;
      const packed = await leader.call('copies.get', { digest }, SERVER_LIMITS.refreshWaitMilliseconds);
      return typeof packed === 'string' ? promisify(gunzip)(Buffer.from(packed, 'base64')) : undefined;
    },
  };
}
