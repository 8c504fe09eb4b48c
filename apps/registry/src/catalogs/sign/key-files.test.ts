import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, cp, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import type { RegistryStore } from '../../store/registry-store.js';
import { openSqliteStore } from '../../store/sqlite/store.js';
import { addKeyFile, keyFileNames, readKeyFiles } from './key-files.js';
import {
  ensureRegistryKey,
  publishedKeys,
  RegistryKeys,
  type SharedKeys,
  signingKey,
} from './registry-keys.js';

const NOW = new Date('2030-01-02T03:04:05.678Z');
/** Only an administrator can, and not in every container. */
const canMount = spawnSync('unshare', ['--mount', 'true']).status === 0;
const later = (milliseconds: number) => new Date(NOW.getTime() + milliseconds);

let parent: string;
let folder: string;
beforeEach(async () => {
  parent = await mkdtemp(path.join(tmpdir(), 'krmhub-keys-'));
  folder = path.join(parent, 'keys');
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const onlyFile = async () => path.join(folder, (await keyFileNames(folder))[0]!);
const silent = pino({ level: 'silent' });

describe('key files', () => {
  it('are readable by their owner only, and are read as written', async () => {
    const made = await addKeyFile(folder, NOW);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const file = await onlyFile();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(path.basename(file)).toMatch(/^20300102T030405678Z-[a-f0-9]{16}\.pem$/);
    expect(await readFile(file, 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    const [read] = await readKeyFiles(folder);
    expect(read?.publicKey.pem).toBe(made.publicKey.pem);
    expect(read?.validFrom).toBe(NOW.toISOString());
    expect(await readdir(folder)).toHaveLength(1);
  });

  it('are an empty list without a folder', async () => {
    expect(await readKeyFiles(folder)).toEqual([]);
  });

  it('are sorted newest first, without hidden and unfinished files', async () => {
    await addKeyFile(folder, later(1_000));
    await addKeyFile(folder, NOW);
    await addKeyFile(folder, later(2_000));
    for (const name of ['.half.pem', 'x.unfinished', 'notes.txt'])
      await writeFile(path.join(folder, name), 'x');
    const times = (await readKeyFiles(folder)).map(({ validFrom }) => validFrom);
    expect(times).toEqual([later(2_000), later(1_000), NOW].map((time) => time.toISOString()));
  });

  it.each([
    ['empty', () => ''],
    ['truncated', (text: string) => text.slice(0, 100)],
    ['something else', () => 'hello'],
    ['too long', (text: string) => text + ' '.repeat(70_000)],
  ])('are rejected if one is %s, without revealing its content', async (_, damage) => {
    await addKeyFile(folder, NOW);
    const file = await onlyFile();
    const text = await readFile(file, 'utf8');
    await writeFile(file, damage(text));
    const error = await readKeyFiles(folder).then(
      () => undefined,
      (caught: Error) => caught,
    );
    expect(error).toMatchObject({ code: 'unavailable', hint: expect.stringContaining('backup') });
    expect(error?.message).toContain(file);
    const body = text.split('\n')[1]!;
    expect(`${error?.stack} ${JSON.stringify(error)} ${String(error?.cause)}`).not.toContain(
      body.slice(0, 20),
    );
  });

  it('are rejected if one is a pipe', async () => {
    await addKeyFile(folder, NOW);
    const file = await onlyFile();
    await rm(file);
    execFileSync('mkfifo', ['-m', '600', file]);
    await expect(readKeyFiles(folder)).rejects.toMatchObject({
      code: 'unavailable',
      message: `${file} is not a file`,
    });
  });

  it('are rejected if other accounts can write to the folder', async () => {
    await addKeyFile(folder, NOW);
    await chmod(folder, 0o777);
    await expect(readKeyFiles(folder)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('is writable by other accounts'),
    });
  });

  it.skipIf(!canMount)('are read from a folder that Kubernetes mounts, which nobody can write', async () => {
    const { publicKey } = await addKeyFile(folder, NOW);
    await chmod(folder, 0o1777);
    execFileSync('mount', ['--bind', folder, folder]);
    try {
      execFileSync('mount', ['-o', 'remount,ro,bind', folder]);
      expect((await readKeyFiles(folder)).map((key) => key.publicKey)).toEqual([publicKey]);
    } finally {
      execFileSync('umount', [folder]);
    }
  });

  it('are rejected if a name does not match its key', async () => {
    await addKeyFile(folder, NOW);
    const first = await onlyFile();
    await addKeyFile(folder, later(1_000));
    const second = path.join(folder, (await keyFileNames(folder))[1]!);
    await writeFile(second, await readFile(first));
    await expect(readKeyFiles(folder)).rejects.toThrow('does not contain the key in its name');
    await rm(second);
    await rename(first, path.join(folder, 'registry.pem'));
    await expect(readKeyFiles(folder)).rejects.toThrow('does not have the name of a registry key');
  });

  it('are rejected if all accounts can read one', async () => {
    await addKeyFile(folder, NOW);
    const file = await onlyFile();
    await chmod(file, 0o604);
    await expect(readKeyFiles(folder)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('other accounts'),
      hint: expect.stringContaining(`chmod 600 ${file}`),
    });
    // Kubernetes assigns the files of a volume to a group.
    await chmod(file, 0o660);
    expect(await readKeyFiles(folder)).toHaveLength(1);
  });
});

describe('registry keys', () => {
  it('sign one after the other, and are published before they sign', async () => {
    await addKeyFile(folder, NOW);
    await addKeyFile(folder, later(5_000));
    const keys = await readKeyFiles(folder);
    expect(signingKey(keys, later(4_999)).validFrom).toBe(NOW.toISOString());
    expect(signingKey(keys, later(5_000)).validFrom).toBe(later(5_000).toISOString());
    // If the clock was set back, the first key still signs.
    expect(signingKey(keys, later(-99_999)).validFrom).toBe(NOW.toISOString());
    const published = publishedKeys(keys);
    expect(published).toMatchObject([
      { validFrom: later(5_000).toISOString() },
      { validFrom: NOW.toISOString(), validUntil: later(5_000).toISOString() },
    ]);
    expect(published[0]).not.toHaveProperty('validUntil');
    expect(JSON.stringify(published)).not.toContain('PRIVATE');
  });

  it('are created at the first start, and never again if something was signed', async () => {
    await ensureRegistryKey(folder, { now: NOW, signed: false });
    const [first] = await readKeyFiles(folder);
    await ensureRegistryKey(folder, { now: later(1), signed: true });
    expect(await readKeyFiles(folder)).toHaveLength(1);
    await rm(await onlyFile());
    await expect(ensureRegistryKey(folder, { now: later(1), signed: true })).rejects.toMatchObject({
      code: 'unavailable',
      hint: expect.stringContaining('krmhub key rotate'),
    });
    await expect(RegistryKeys.open({ folder, clock: () => NOW, log: silent })).rejects.toThrow(
      'keys are missing',
    );
    expect(await readKeyFiles(folder)).toEqual([]);
    await ensureRegistryKey(folder, { now: later(1), signed: false });
    expect((await readKeyFiles(folder))[0]?.publicKey.pem).not.toBe(first?.publicKey.pem);
  });

  it('are read again after a minute; damaged files do not replace the known keys', async () => {
    await addKeyFile(folder, NOW);
    let now = later(1);
    const logged: string[] = [];
    const log = pino({ level: 'error' }, { write: (line: string) => logged.push(line) });
    const keys = await RegistryKeys.open({ folder, clock: () => now, log });
    const first = await keys.signing();
    const second = await addKeyFile(folder, later(2));
    now = later(SERVER_LIMITS.readKeysMilliseconds);
    expect((await keys.signing()).validFrom).toBe(first.validFrom);
    now = later(SERVER_LIMITS.readKeysMilliseconds + 1);
    expect((await keys.signing()).publicKey.pem).toBe(second.publicKey.pem);
    await writeFile(await onlyFile(), 'damaged');
    now = later(3 * SERVER_LIMITS.readKeysMilliseconds);
    expect((await keys.signing()).publicKey.pem).toBe(second.publicKey.pem);
    await rm(folder, { recursive: true });
    now = later(5 * SERVER_LIMITS.readKeysMilliseconds);
    expect(await keys.all()).toHaveLength(2);
    expect(logged).toHaveLength(2);
    expect(logged.join()).toContain('using the previous keys');
  });
});

describe('the keys of several processes', () => {
  let store: RegistryStore;
  beforeEach(async () => {
    store = await openSqliteStore(':memory:');
  });
  afterEach(() => store.close());
  const folderOf = (name: string) => path.join(parent, name);
  const ensure = (name: string, { shared = store as SharedKeys, signed = false } = {}) =>
    ensureRegistryKey(folderOf(name), { now: NOW, signed, shared });

  it('are one: of first starts at the same time, one makes it, and the others need a copy', async () => {
    const starts = await Promise.allSettled(['a', 'b', 'c'].map((name) => ensure(name)));
    const refused = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason] : []));
    expect(refused).toHaveLength(2);
    for (const error of refused) {
      expect(error).toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/^the registry has a key, but its keys are missing in /),
        hint: expect.stringMatching(/^Copy the folder from another process of this registry/),
      });
    }
    const names = await Promise.all(['a', 'b', 'c'].map((name) => keyFileNames(folderOf(name))));
    expect(names.flat()).toHaveLength(1);
    const first = ['a', 'b', 'c'][names.findIndex(({ length }) => length > 0)]!;
    await expect(ensure('d')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await keyFileNames(folderOf('d'))).toEqual([]);
    await cp(folderOf(first), folderOf('d'), { recursive: true });
    await ensure('d');
    await ensure(first);
  });

  it('are one in a folder of all, and none that another process can use is deleted', async () => {
    for (let times = 0; times < 5; times += 1) {
      store = await openSqliteStore(':memory:');
      const name = `all${times}`;
      const seen = new Set<string>();
      // One that starts meanwhile may sign with any key that it reads.
      const shared: SharedKeys = {
        ...store,
        signatureKeys: async () => {
          for (const one of await keyFileNames(folderOf(name))) seen.add(one);
          return store.signatureKeys();
        },
        changeSetting: async (...change) => {
          for (const one of await keyFileNames(folderOf(name))) seen.add(one);
          const first = await store.changeSetting(...change);
          for (const one of await keyFileNames(folderOf(name))) seen.add(one);
          return first;
        },
      };
      await Promise.all(['a', 'b', 'c'].map(() => ensure(name, { shared })));
      const left = await readdir(folderOf(name));
      expect(left).toHaveLength(1);
      for (const one of seen) expect(left).toContain(one);
    }
  });

  it.each(['before', 'after'])(
    'are made once if the first start ends %s it records its key',
    async (when) => {
      const ends: SharedKeys = {
        ...store,
        changeSetting: async (...change) => {
          if (when === 'after') await store.changeSetting(...change);
          throw new Error('killed');
        },
      };
      await expect(ensure('all', { shared: ends })).rejects.toThrow('killed');
      expect(await keyFileNames(folderOf('all'))).toEqual([]);
      await ensure('all');
      const [key, ...others] = await readKeyFiles(folderOf('all'));
      expect([key?.publicKey.fingerprint, others]).toEqual([await store.setting('registry-key'), []]);
    },
  );

  it('are refused if they are not those of the database, as the first one or by a signature', async () => {
    await ensure('own');
    const other = await addKeyFile(folderOf('other'), NOW);
    await expect(ensure('other')).rejects.toMatchObject({
      code: 'unavailable',
      message: `the keys in ${folderOf('other')} are not those of the registry in the database`,
    });
    // The first key was stolen, and its file is gone.
    const signed = { ...store, signatureKeys: async () => [other.publicKey.fingerprint] };
    await ensure('other', { shared: signed, signed: true });
  });

  it('are refused if others signed and none is recorded', async () => {
    const own = await addKeyFile(folderOf('own'), NOW);
    await addKeyFile(folderOf('other'), NOW);
    const shared = { ...store, signatureKeys: async () => [own.publicKey.fingerprint] };
    await expect(ensure('other', { shared, signed: true })).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.setting('registry-key')).toBeUndefined();
    await ensure('own', { shared, signed: true });
  });

  it('of a registry of an older version become those of the database', async () => {
    await addKeyFile(folderOf('own'), NOW);
    await ensure('own', { signed: true });
    await addKeyFile(folderOf('other'), NOW);
    await expect(ensure('other', { signed: true })).rejects.toMatchObject({ code: 'unavailable' });
  });
});
