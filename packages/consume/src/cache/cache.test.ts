import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { platform, tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cache, openCache } from './cache.js';
import { cacheFolder } from './cache-folder.js';
import { evict } from './evict.js';
import { CACHE_LIMITS } from './limits.js';
import { RecordKey } from './record-key.js';

const HOST = { now: () => new Date(), version: '1.0.0' };
let folder: string;
let cache: Cache;
let key: RecordKey;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-cache-'));
  key = new RecordKey(path.join(folder, 'cache.key'));
  cache = new Cache(path.join(folder, 'cache'), HOST, key);
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const bytes = Buffer.from('some bytes');
const digest = sha256(bytes);
async function* streamed(...pieces: (string | Error)[]): AsyncIterable<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield Buffer.from(piece);
  }
}
const files = async (name: string) => readdir(path.join(cache.folder, name)).catch(() => []);

describe('blobs', () => {
  it('are read by their digest', async () => {
    expect(await cache.readBlob(digest, 100)).toBeUndefined();
    expect(await cache.writeBlob(bytes)).toBe(digest);
    expect(Buffer.from((await cache.readBlob(digest, 100))!)).toEqual(bytes);
    expect(await cache.blobFile(digest)).toBe(cache.blobPath(digest));
    expect(await cache.readBlob(digest, bytes.byteLength - 1)).toBeUndefined();
    expect(await files('tmp')).toEqual([]);
  });

  it.each([
    ['other bytes', Buffer.from('SOME bytes')],
    ['fewer bytes', bytes.subarray(0, 3)],
    ['more bytes', Buffer.concat([bytes, bytes])],
    ['nothing', Buffer.alloc(0)],
  ])('with %s are removed, and never returned', async (_, damaged) => {
    for (const read of [() => cache.readBlob(digest, 1_000), () => cache.blobFile(digest)]) {
      await cache.writeBlob(bytes);
      await writeFile(cache.blobPath(digest), damaged);
      expect(await read()).toBeUndefined();
      expect(await files('blobs/sha256')).toEqual([]);
    }
  });

  it.skipIf(platform() === 'win32')('are read of files only, not of devices without an end', async () => {
    await mkdir(path.dirname(cache.blobPath(digest)), { recursive: true });
    await symlink('/dev/zero', cache.blobPath(digest));
    expect(await cache.blobFile(digest)).toBeUndefined();
    expect(await cache.readBlob(digest, 1_000)).toBeUndefined();
    await cache.writeBlob(bytes);
    expect(await cache.blobFile(digest)).toBe(cache.blobPath(digest));
  });

  it('are streamed under a limit, and only with the expected digest', async () => {
    const written = await cache.writeBlobStream(streamed('some ', 'bytes'), {
      maxBytes: 10,
      expected: digest,
    });
    expect(written).toEqual({ digest, size: 10, file: cache.blobPath(digest) });
    expect(await readFile(written.file)).toEqual(bytes);
    await cache.remove(written.file);
    const failed = new Error('the connection was closed');
    for (const [source, options, error] of [
      [streamed('some ', 'bytes'), { maxBytes: 9 }, { code: 'too-large' }],
      [streamed('other bytes'), { maxBytes: 100, expected: digest }, { code: 'digest-mismatch' }],
      [streamed('some', failed), { maxBytes: 100 }, failed],
    ] as const) {
      await expect(cache.writeBlobStream(source, options)).rejects.toMatchObject(error);
    }
    expect([await files('blobs/sha256'), await files('tmp')]).toEqual([[], []]);
  });

  it.skipIf(platform() === 'win32')('are of this user only', async () => {
    await cache.writeBlob(bytes);
    expect((await stat(cache.blobPath(digest))).mode & 0o777).toBe(0o600);
    for (const name of ['', 'blobs', 'blobs/sha256', 'tmp']) {
      expect((await stat(path.join(cache.folder, name))).mode & 0o777).toBe(0o700);
    }
  });

  it('of several processes that write the same are whole', async () => {
    const script = path.join(folder, 'write.mjs');
    const built = new URL('../../dist/cache/cache.js', import.meta.url).href;
    const builtKey = new URL('../../dist/cache/record-key.js', import.meta.url).href;
    await key.sign('');
    await writeFile(
      script,
      `import { Cache } from ${JSON.stringify(built)};
const { RecordKey } = await import(${JSON.stringify(builtKey)});
const key = new RecordKey(process.argv[3]);
const cache = new Cache(process.argv[2], { now: () => new Date(), version: '1.0.0' }, key);
for (let round = 0; round < 40; round++) {
  const bytes = Buffer.alloc(200_000, round % 4);
  const digest = await cache.writeBlob(bytes);
  await cache.writeRecord('catalogs', 'same', { round, pad: 'x'.repeat(round * 100) });
  const read = await cache.readBlob(digest, 1_000_000);
  // Another process may have removed it.
  if (read !== undefined && !bytes.equals(read)) throw new Error('damaged');
  const record = await cache.readRecord('catalogs', 'same');
  if (record === undefined || record.pad.length !== record.round * 100) throw new Error('damaged record');
  if (round % 5 === 0) await cache.remove(cache.blobPath(digest));
}
`,
    );
    const children = Array.from({ length: 4 }, () =>
      fork(script, [cache.folder, path.join(folder, 'cache.key')], { stdio: 'inherit', execArgv: [] }),
    );
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
    expect(codes).toEqual([0, 0, 0, 0]);
    expect(await files('tmp')).toEqual([]);
  });
});

describe('records', () => {
  it('are read by their name', async () => {
    await cache.writeRecord('catalogs', 'https://example.com/a', { digest });
    await cache.writeRecord('catalogs', 'https://example.com/b', { digest: 'b' });
    expect(await cache.readRecord('catalogs', 'https://example.com/a')).toMatchObject({ digest });
    expect(await cache.readRecord('images', 'https://example.com/a')).toBeUndefined();
    await cache.removeRecord('catalogs', 'https://example.com/a');
    expect(await cache.readRecord('catalogs', 'https://example.com/a')).toBeUndefined();
  });

  it.each(['', '{', 'null', '[]', '{"digest":"x"}', '{"name":"other"}', 'x'.repeat(100_000)])(
    'with %j count as missing',
    async (text) => {
      await cache.writeRecord('catalogs', 'name', { digest });
      const [file] = await files('catalogs');
      await writeFile(path.join(cache.folder, 'catalogs', file!), text);
      expect(await cache.readRecord('catalogs', 'name')).toBeUndefined();
    },
  );

  it('that were written on another machine count only where nothing else is known', async () => {
    const other = new Cache(cache.folder, HOST, new RecordKey(path.join(folder, 'other', 'cache.key')));
    await other.writeRecord('catalogs', 'name', { digest });
    expect(await cache.readRecord('catalogs', 'name')).toBeUndefined();
    expect(await cache.readRecord('catalogs', 'name', { ofAnyone: true })).toEqual({ name: 'name', digest });
    await cache.writeRecord('catalogs', 'name', { digest });
    const again = new Cache(cache.folder, HOST, new RecordKey(path.join(folder, 'cache.key')));
    expect(await again.readRecord('catalogs', 'name')).toEqual({ name: 'name', digest });
    expect(await other.readRecord('catalogs', 'name')).toBeUndefined();
  });

  it('that were changed, moved, or are of an earlier version are not used', async () => {
    const write = async (to: Cache) => {
      await to.writeRecord('catalogs', 'name', { digest });
      const [file] = await readdir(path.join(to.folder, 'catalogs'));
      return path.join('catalogs', file!);
    };
    const part = cache.part(path.join(cache.folder, 'private', 'a', 'b'));
    const file = await write(cache);
    const own = await readFile(path.join(cache.folder, file), 'utf8');
    const { proof, ...record } = JSON.parse(own) as Record<string, unknown>;
    const read = async (text: string, from = cache) => {
      await writeFile(path.join(cache.folder, file), text);
      return from.readRecord('catalogs', 'name');
    };
    expect(await read(own)).toEqual(record);
    for (const changed of [
      record,
      { ...record, proof: '' },
      { ...record, proof: 7 },
      { ...record, proof: String(proof).replace(/^./, (digit) => (digit === '0' ? '1' : '0')) },
      { ...record, digest: sha256(Buffer.from('other')), proof },
      { ...record, more: 1, proof },
    ]) {
      expect(await read(JSON.stringify(changed))).toBeUndefined();
    }
    await write(part);
    expect(await part.readRecord('catalogs', 'name')).toEqual(record);
    expect(await read(await readFile(path.join(part.folder, file), 'utf8'))).toBeUndefined();
    await mkdir(path.join(cache.folder, 'images'));
    await writeFile(path.join(cache.folder, file.replace('catalogs', 'images')), own);
    expect(await cache.readRecord('images', 'name')).toBeUndefined();
  });

  it('have the key of one of the processes that make it at the same time, also in place of a damaged one', async () => {
    for (const before of [undefined, 'damaged']) {
      const file = path.join(folder, `first-${before}`, 'cache.key');
      await mkdir(path.dirname(file));
      if (before !== undefined) await writeFile(file, before);
      const made = await Promise.all(Array.from({ length: 8 }, () => new RecordKey(file).sign('text')));
      const stored = await new RecordKey(file).sign('text');
      if (before === undefined) expect(new Set(made)).toEqual(new Set([stored]));
      else expect(made).toContain(stored);
      expect(await readdir(path.dirname(file))).toEqual(['cache.key']);
    }
  });

  it('are of the process if the key cannot be stored', async () => {
    const file = path.join(folder, 'file');
    await writeFile(file, '');
    const own = new Cache(cache.folder, HOST, new RecordKey(path.join(file, 'cache.key')));
    await Promise.all(['a', 'b'].map((name) => own.writeRecord('catalogs', name, { digest })));
    for (const name of ['a', 'b']) expect(await own.readRecord('catalogs', name)).toMatchObject({ digest });
    const next = new Cache(cache.folder, HOST, new RecordKey(path.join(file, 'cache.key')));
    expect(await next.readRecord('catalogs', 'a')).toBeUndefined();
  });

  it.skipIf(platform() === 'win32')('have a key that only this user can read', async () => {
    await cache.writeRecord('catalogs', 'name', { digest });
    expect((await stat(path.join(folder, 'cache.key'))).mode & 0o777).toBe(0o600);
  });

  it('that are too large are not stored', async () => {
    await cache.writeRecord('catalogs', 'name', { pad: 'x'.repeat(CACHE_LIMITS.maxRecordBytes) });
    expect(await files('catalogs')).toEqual([]);
  });
});

describe('eviction', () => {
  const limits = { ...CACHE_LIMITS, maxBytes: 1_000, remainingPart: 0.5, maxRecords: 2, keptMilliseconds: 0 };
  const now = new Date('2030-01-02T00:00:00Z');
  const write = async (name: string, size: number, minutes: number) => {
    const file = path.join(cache.folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, Buffer.alloc(size));
    const at = new Date(now.getTime() - minutes * 60_000);
    await utimes(file, at, at);
  };

  it('removes what was not used for longest, until enough is free', async () => {
    for (const [name, minutes] of [
      ['a', 50],
      ['b', 10],
      ['c', 40],
      ['d', 20],
    ] as const) {
      await write(`blobs/sha256/${name}`, 200, minutes);
    }
    await write('index/e', 300, 30);
    await evict(cache.folder, now, limits);
    expect([await files('blobs/sha256'), await files('index')]).toEqual([['b', 'd'], []]);
  });

  it('leaves a cache that is small enough', async () => {
    await write('blobs/sha256/a', 1_000, 1_000_000);
    await evict(cache.folder, now, limits);
    expect(await files('blobs/sha256')).toEqual(['a']);
  });

  it('leaves what another process may be using', async () => {
    await write('blobs/sha256/new', 5_000, 1);
    await evict(cache.folder, now, { ...limits, keptMilliseconds: 120_000 });
    expect(await files('blobs/sha256')).toEqual(['new']);
  });

  it('removes the oldest records, and files of processes that were killed', async () => {
    for (const [name, minutes] of [
      ['a', 3],
      ['b', 1],
      ['c', 2],
    ] as const)
      await write(`catalogs/${name}.json`, 1, minutes);
    await write('tmp/old', 1, 2 * 24 * 60);
    await write('tmp/new', 1, 5);
    await evict(cache.folder, now, limits);
    expect([await files('catalogs'), await files('tmp')]).toEqual([['b.json', 'c.json'], ['new']]);
  });

  it
    .skipIf(platform() === 'win32')
    .each(['tmp', 'private', 'private/origin', 'blobs', 'blobs/sha256', 'catalogs'])(
    'removes nothing behind the link %s, which a restored cache may have',
    async (name) => {
      const home = path.join(folder, 'home');
      for (const file of ['letters/mail/a', 'letters/b', 'sha256/c', 'd']) {
        await mkdir(path.dirname(path.join(home, file)), { recursive: true });
        await writeFile(path.join(home, file), Buffer.alloc(2_000));
      }
      const all = await readdir(home, { recursive: true });
      for (const one of ['.', ...all]) await utimes(path.join(home, one), 1, 1);
      await mkdir(path.dirname(path.join(cache.folder, name)), { recursive: true });
      await symlink(home, path.join(cache.folder, name));
      await evict(cache.folder, now, { ...limits, maxRecords: 0 });
      expect(await readdir(home, { recursive: true })).toEqual(all);
    },
  );

  it('follows a link that is the cache itself', async () => {
    await write('tmp/old', 1, 2 * 24 * 60);
    await symlink(cache.folder, path.join(folder, 'link'));
    await evict(path.join(folder, 'link'), now, limits);
    expect(await files('tmp')).toEqual([]);
  });

  it('happens when a process that wrote ends, and keeps what is read often', async () => {
    const at = new Date();
    const small = new Cache(cache.folder, { ...HOST, now: () => at }, key, {
      ...limits,
      remainingPart: 0.9,
      touchedMilliseconds: 60_000,
    });
    const [kept, old] = [Buffer.alloc(400, 1), Buffer.alloc(400, 2)];
    for (const one of [kept, old]) {
      const file = small.blobPath(await small.writeBlob(one));
      await utimes(file, 1, 1);
    }
    expect(await small.readBlob(sha256(kept), 1_000)).toBeDefined();
    await small.writeBlob(Buffer.alloc(400, 3));
    await small.close();
    const left = await files('blobs/sha256');
    expect(left).toContain(sha256(kept).slice(7));
    expect(left).not.toContain(sha256(old).slice(7));
  });
});

describe('the folder of the cache', () => {
  it('is in KRMHUB_CACHE, else in XDG_CACHE_HOME, else in the home', () => {
    const at = (env: Record<string, string>) =>
      cacheFolder({ env: { HOME: '/home/me', ...env }, cwd: '/work' });
    expect(at({})).toBe('/home/me/.cache/krmhub');
    expect(at({ XDG_CACHE_HOME: '/var/cache' })).toBe('/var/cache/krmhub');
    expect(at({ XDG_CACHE_HOME: 'relative' })).toBe('/home/me/.cache/krmhub');
    expect(at({ XDG_CACHE_HOME: '/var/cache', KRMHUB_CACHE: 'mine' })).toBe('/work/mine');
  });

  it('is created when it is needed', async () => {
    const io = { ...HOST, cwd: folder, env: { KRMHUB_CACHE: path.join(folder, 'new') } };
    await (await openCache(io)).close();
    expect(await readdir(folder)).toEqual([]);
  });

  it.skipIf(platform() === 'win32' || userInfo().uid !== 0)(
    'is refused if another user owns it, also for root, and says so',
    async () => {
      await mkdir(cache.folder, { mode: 0o700 });
      const io = { ...HOST, cwd: folder, env: { KRMHUB_CACHE: cache.folder } };
      await chown(cache.folder, 1_234, 1_234);
      await expect(openCache(io)).rejects.toMatchObject({
        code: 'unavailable',
        message: `the cache ${cache.folder} belongs to another user`,
        hint: expect.stringContaining('KRMHUB_CACHE'),
      });
      await chown(cache.folder, 0, 0);
      await (await openCache(io)).close();
    },
  );

  it.skipIf(platform() === 'win32')('is refused if others may change it', async () => {
    await mkdir(cache.folder);
    const io = { ...HOST, cwd: folder, env: { KRMHUB_CACHE: cache.folder } };
    for (const mode of [0o770, 0o702]) {
      await chmod(cache.folder, mode);
      await expect(openCache(io)).rejects.toMatchObject({
        code: 'unavailable',
        hint: expect.stringContaining('chmod 700'),
      });
    }
    await chmod(cache.folder, 0o755);
    await expect(openCache(io)).resolves.toBeDefined();
  });
});
