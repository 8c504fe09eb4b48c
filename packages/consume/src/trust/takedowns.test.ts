import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sha256 } from '@krmhub/schema/digest';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Cache } from '../cache/cache.js';
import { RecordKey } from '../cache/record-key.js';
import { findTakedown } from './takedowns.js';

const CODE = { sha256: sha256(Buffer.from('code')) };
const REASON = 'example.com/Set@1.0.0 was taken down: holds a password';
let folder: string;
let hours: number;
/** Who is shown the takedown. */
let told: string[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'krmhub-takedowns-'));
  hours = 0;
  told = ['alice'];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A run of the program by an actor, or by no one. */
function find(actor: string | undefined): Promise<string | undefined> {
  const now = () => new Date(hours * 3_600_000);
  const cache = new Cache(folder, { now, version: '1.0.0' }, new RecordKey(path.join(folder, 'cache.key')));
  const revocation = { group: 'example.com', kind: 'Set', release: '1.0.0', reason: 'holds a password' };
  const fetch = {
    openSources: async () => ({ actor: async () => actor }),
    connect: async (_: string, { anonymous }: { anonymous?: true }) => ({
      revocations: async () => ({
        revocations:
          anonymous !== true && actor !== undefined && told.includes(actor)
            ? [{ ...revocation, runtimeDigests: [CODE.sha256] }]
            : [],
      }),
    }),
  };
  const io = { now, fetch } as unknown as Parameters<typeof findTakedown>[0];
  return findTakedown(io, cache, [CODE], ['https://krm.example.com']);
}

it('that not everyone may see is cleared for no one else by those who may not', async () => {
  expect(await find('alice')).toBe(REASON);
  for (const other of [undefined, 'bob'])
    expect(await find(other)).toMatch('only to users who may read the release');
  hours = 2;
  for (const other of [undefined, 'bob']) expect(await find(other)).toBeUndefined();
  expect(await find('alice')).toBe(REASON);
});

it('that not everyone may see is cleared by who was told of it', async () => {
  expect(await find('alice')).toBe(REASON);
  told = [];
  expect(await find('alice')).toBe(REASON);
  hours = 2;
  expect(await find('alice')).toBeUndefined();
  expect(await find(undefined)).toBeUndefined();
});
