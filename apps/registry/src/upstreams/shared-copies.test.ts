import { gzipSync } from 'node:zlib';
import { DOCUMENT_LIMITS, sha256 } from '@krmhub/schema';
import { expect, it } from 'vitest';
import { LEADER_HERE, type Leader } from '../workers/processes/leader.js';
import { sharedCopies } from './shared-copies.js';

const digest = sha256('copy');
const none = { get: async () => undefined };
const leaderWith = (call: Leader['call']): Leader => ({
  isHere: false,
  call,
  status: () => undefined,
  catchUp: async () => undefined,
  isCurrent: () => true,
});
const TOO_LARGE = new Uint8Array(DOCUMENT_LIMITS.maxCatalogBytes + 1);
const refusal = { code: 'unavailable', message: expect.stringContaining('exceeds 67108864 bytes') };

it('reads a copy of the leader, and none that is missing there', async () => {
  const stored = { get: async (wanted: string) => (wanted === digest ? Buffer.from('copy') : undefined) };
  const { methods } = sharedCopies(stored, LEADER_HERE);
  const copies = sharedCopies(
    none,
    leaderWith(async (method, input) => methods[method]!(input as never)),
  );
  expect(await copies.get(digest)).toEqual(Buffer.from('copy'));
  expect(await copies.get(sha256('other'))).toBeUndefined();
});

it('neither sends nor unpacks one that is too large', async () => {
  const { methods } = sharedCopies({ get: async () => TOO_LARGE }, LEADER_HERE);
  await expect(methods['copies.get']!({ digest } as never)).rejects.toMatchObject(refusal);
  const packed = gzipSync(TOO_LARGE).toString('base64');
  await expect(
    sharedCopies(
      none,
      leaderWith(async () => packed),
    ).get(digest),
  ).rejects.toMatchObject(refusal);
});

it('unpacks one at a time, also after a failure', async () => {
  let running = 0;
  let most = 0;
  const copies = sharedCopies(
    none,
    leaderWith(async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      throw new Error('lost');
    }),
  );
  const results = await Promise.allSettled([1, 2, 3].map(() => copies.get(digest)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(most).toBe(1);
});
