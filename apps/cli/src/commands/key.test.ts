import { cp, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createLog, readConfig, startRegistry } from '@krmhub/registry';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, temporaryFolder } from '../testing/command-line.js';

const folder = temporaryFolder();
let data: string;
let number = 0;
beforeAll(async () => {
  data = path.join(folder, 'started');
  await (await start()).close();
});

const silent = createLog('silent', { write: () => undefined });
const start = () => startRegistry({ config: readConfig({}, { port: '0', data }), log: silent });
const run = (...args: string[]) => runTest(['key', ...args, '--data', data], { cwd: folder });
const json = async (...args: string[]) => {
  const io = await run(...args, '-o', 'json');
  expect([io.exitCode, io.err()]).toEqual([0, expect.any(String)]);
  return (JSON.parse(io.out()) as { keys: { state: string; fingerprint: string; validUntil?: string }[] })
    .keys;
};

beforeEach(async () => {
  data = path.join(folder, `data-${number++}`);
  await cp(path.join(folder, 'started'), data, { recursive: true });
});

describe('key', () => {
  it('lists the key of the first start, without the private key', async () => {
    const [key, ...others] = await json('list');
    expect(others).toEqual([]);
    expect(key).toMatchObject({
      state: 'signing',
      fingerprint: expect.stringMatching(/^sha256:[a-f0-9]{64}$/),
      publicKey: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n/),
    });
    const io = await run('list');
    expect(io.out()).toMatch(/^signing\t\S+\t\tsha256:[a-f0-9]{64}\n$/);
    expect(JSON.stringify(await json('list'))).not.toContain('PRIVATE');
  });

  it('creates the next key, valid now or later', async () => {
    const [first] = await json('list');
    const [later, current] = await json('rotate', '--valid-from', '2099-01-02');
    expect([later, current]).toMatchObject([
      { state: 'next', validFrom: '2099-01-02T00:00:00.000Z' },
      { state: 'signing', fingerprint: first!.fingerprint, validUntil: '2099-01-02T00:00:00.000Z' },
    ]);
    const again = await run('rotate', '--valid-from', '2099-01-02');
    expectEnd(again, 2, 'a key that starts at 2099-01-02');
    expect(again.err()).toContain('use a later time with --valid-from');
    // The one that is announced stays so: a key that is known to others cannot wait for it.
    const states = (await json('rotate')).map(({ state }) => state);
    expect(states).toEqual(['next', 'signing', 'retired']);
  });

  it.each(['2001-01-01', 'tomorrow', '2030-13-01', '2030-01-02 10:00'])('takes no time %j', async (from) => {
    const io = await run('rotate', '--valid-from', from);
    expect([io.exitCode, io.err()]).toEqual([2, expect.stringMatching(/past|is not a valid time/)]);
    expect(await json('list')).toHaveLength(1);
  });

  it('reports a missing registry', async () => {
    data = path.join(folder, 'nothing');
    for (const name of ['list', 'rotate']) {
      expectEnd(await run(name), 5, 'no registry found');
    }
  });

  it('creates a key if the earlier keys are lost', async () => {
    await rm(path.join(data, 'keys'), { recursive: true });
    await expect(start()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('its keys are missing'),
      hint: expect.stringContaining('krmhub key rotate'),
    });
    expect(await json('list')).toEqual([]);
    await json('rotate');
    await (await start()).close();
  });

  it('reports the corrupt file, and the registry does not start', async () => {
    const [file] = await readdir(path.join(data, 'keys'));
    await writeFile(path.join(data, 'keys', file!), 'damaged');
    expectEnd(await run('list'), 5, file!);
    await expect(start()).rejects.toThrow('is corrupt');
  });
});
