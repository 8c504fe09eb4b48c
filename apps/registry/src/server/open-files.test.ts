import { expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { translateFileError } from '../store/blobs/folder.js';
import { connectionsFor, openFileLimit } from './open-files.js';

it('accepts fewer connections where fewer files can be open', () => {
  expect(connectionsFor(undefined)).toBe(SERVER_LIMITS.maxConnections);
  expect(connectionsFor(1_048_576)).toBe(SERVER_LIMITS.maxConnections);
  expect(connectionsFor(1_024)).toBe(512);
  expect(connectionsFor(SERVER_LIMITS.minOpenFiles)).toBe(SERVER_LIMITS.minOpenFiles / 2);
});

it('refuses to start with too few open files, and says how to raise the limit', () => {
  expect(() => connectionsFor(SERVER_LIMITS.minOpenFiles - 1)).toThrow(
    expect.objectContaining({
      code: 'usage',
      message:
        'cannot start: the limit of open files is too low: the limit is 255, the registry requires 256',
      hint: expect.stringContaining('ulimit -n'),
    }),
  );
});

it.skipIf(process.platform !== 'linux')('reads the limit of this process', async () => {
  expect(await openFileLimit()).toBeGreaterThan(0);
});

it('a request without a file says that too many are open', () => {
  const cause = Object.assign(new Error('EMFILE'), { code: 'EMFILE', syscall: 'open' });
  expect(translateFileError('/data/blobs', cause)).toMatchObject({
    code: 'unavailable',
    message: 'cannot use the blobs in /data/blobs: too many files are open',
  });
});
