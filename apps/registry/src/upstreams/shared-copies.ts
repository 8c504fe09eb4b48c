import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { BlobBytes } from '@krmhub/catalog';
import { type Digest, DOCUMENT_LIMITS, KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import type { Leader } from '../workers/processes/leader.js';
import { type LeaderRole, onLeader } from '../workers/processes/on-leader.js';

type Copies = BlobBytes;

/** A fetched catalog is not larger. */
const MAX_BYTES = DOCUMENT_LIMITS.maxCatalogBytes;

/** The copies of upstream catalogs of any process: its own, or those of the leader, which alone fetches them. */
export function sharedCopies(copies: Copies, leader: Leader): Copies & Pick<LeaderRole<never>, 'methods'> {
  const packing = takeTurns();
  const unpacking = takeTurns();
  const pack = async (digest: Digest) => {
    const bytes = await copies.get(digest);
    if (bytes === undefined) return undefined;
    if (bytes.byteLength > MAX_BYTES) throw tooLarge(digest);
    return (await promisify(gzip)(bytes)).toString('base64');
  };
  const role = onLeader(
    'copies',
    { get: ({ digest }: { digest: Digest }) => packing(() => pack(digest)) },
    leader,
  );
  return {
    methods: role.methods,
    async get(digest) {
      const bytes = await copies.get(digest);
      if (bytes !== undefined || leader.isHere) return bytes;
      return unpacking(async () => {
        const packed = await role.call('get', { digest }, SERVER_LIMITS.refreshWaitMilliseconds);
        return typeof packed === 'string' ? unpack(packed, digest) : undefined;
      });
    },
  };
}

async function unpack(packed: string, digest: Digest): Promise<Uint8Array> {
  try {
    return await promisify(gunzip)(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(digest);
    throw error;
  }
}

function tooLarge(digest: Digest): KrmhubError {
  return new KrmhubError(
    'unavailable',
    `the copy ${digest} of an upstream catalog exceeds ${MAX_BYTES} bytes`,
    {
      hint: 'Sync the source again.',
    },
  );
}

/** Runs one work at a time: a large copy needs several times its size in memory. */
function takeTurns(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}
