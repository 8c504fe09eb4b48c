import { ANONYMOUS } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { afterEach, expect, it, vi } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { currentActor } from './auth/request-actor.js';
import type { RegistryContext } from './context.js';
import { LineStreams } from './line-stream.js';

afterEach(() => vi.restoreAllMocks());

const revoked = new KrmhubError('unauthorized', 'the token was revoked, or has expired');

async function* endless() {
  for (;;) yield `${'x'.repeat(SERVER_LIMITS.exportPieceBytes)}\n`;
}

/** The context of a request whose token is checked by `recheck`. */
function request(name: 'recheckToken' | 'recheckReader', recheck: () => Promise<unknown>): RegistryContext {
  const get = (asked: string) => (asked === name ? recheck : undefined);
  return { req: { method: 'GET' }, set: () => undefined, get } as unknown as RegistryContext;
}

it.each(['recheckToken', 'recheckReader'] as const)(
  'ends for a slow client whose token was revoked meanwhile (%s)',
  async (name) => {
    let now = 1_000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    let isValid = true;
    let checks = 0;
    const recheck = async () => {
      checks += 1;
      if (!isValid) throw revoked;
    };
    const streams = new LineStreams();
    const open = () => streams.respond(request(name, recheck), endless).body!.getReader();
    const reader = open();
    expect((await reader.read()).done).toBe(false);
    isValid = false;
    expect([(await reader.read()).done, checks]).toEqual([false, 0]);
    now += SERVER_LIMITS.recheckReaderMilliseconds;
    await expect(reader.read()).rejects.toThrow(revoked.message);
    // It counts no longer.
    for (let count = 0; count < SERVER_LIMITS.maxExports; count++) open();
    expect(open).toThrow('too many exports');
  },
);

it('goes on for a client whose token is still valid', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const recheck = vi.fn(async () => undefined);
  const reader = new LineStreams().respond(request('recheckReader', recheck), endless).body!.getReader();
  for (let count = 0; count < 10; count++) {
    now += SERVER_LIMITS.recheckReaderMilliseconds / 2;
    expect((await reader.read()).done).toBe(false);
  }
  expect(recheck).toHaveBeenCalledTimes(5);
});

it('goes on with the rights that the client has now', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const actor = { ...ANONYMOUS, name: 'another' };
  const recheck = async () => ({ actor, isSame: false });
  const names = async function* () {
    for (;;) yield currentActor().name.padEnd(SERVER_LIMITS.exportPieceBytes);
  };
  const reader = new LineStreams().respond(request('recheckReader', recheck), names).body!.getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value).trim();
  expect(await read()).toBe(ANONYMOUS.name);
  now += SERVER_LIMITS.recheckReaderMilliseconds;
  expect([await read(), await read()]).toEqual(['another', 'another']);
});
