import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openProgram, type PackedProgram } from './unpack-program.js';

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-unpack-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const cache = path.join(folder, 'cache');
const other = path.join(folder, 'other');
beforeEach(() => {
  for (const name of [cache, other]) rmSync(name, { recursive: true, force: true });
});

const uid = process.getuid?.();
const isRoot = uid === 0;
const hex = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const texts = { 'a.js': 'first', 'deep/b.js': 'second', 'deep/c/d.js': 'third' };

function packed(unpack?: () => void): PackedProgram & { unpacked: number } {
  const bytes = new Map(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]));
  const program = {
    digest: hex(Buffer.from(Object.values(texts).join())),
    files: Object.fromEntries([...bytes].map(([name, one]) => [name, [one.byteLength, hex(one)] as const])),
    unpacked: 0,
    unpack() {
      program.unpacked++;
      unpack?.();
      return bytes;
    },
  };
  return program;
}
const target = path.join(cache, 'program', packed().digest);
/** Opens the program, and checks that what it returns has the right bytes. */
function open(program = packed()) {
  const found = openProgram(program, [cache, other], uid);
  for (const [name, text] of Object.entries(texts))
    expect(readFileSync(path.join(found, name), 'utf8')).toBe(text);
  return { found, unpacked: program.unpacked };
}

describe('the program of an executable', () => {
  it('is unpacked once, for its user only', () => {
    expect(open()).toEqual({ found: target, unpacked: 1 });
    expect(open()).toEqual({ found: target, unpacked: 0 });
    expect(readdirSync(path.dirname(target))).toEqual([packed().digest]);
    for (const name of ['..', '.', 'deep'])
      expect(statSync(path.join(target, name)).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(target, 'a.js')).mode & 0o777).toBe(0o600);
  });

  it.each<[string, () => void]>([
    [
      'a file that changed and kept its size and time',
      () => {
        const file = path.join(target, 'a.js');
        const { atime, mtime } = statSync(file);
        writeFileSync(file, 'FIRST');
        utimesSync(file, atime, mtime);
      },
    ],
    ['a file that is shorter', () => truncateSync(path.join(target, 'deep/b.js'), 1)],
    ['a file that is missing', () => rmSync(path.join(target, 'deep/c/d.js'))],
    [
      'a link instead of a file',
      () => {
        renameSync(path.join(target, 'a.js'), path.join(folder, 'a.js'));
        symlinkSync(path.join(folder, 'a.js'), path.join(target, 'a.js'));
      },
    ],
    ['a folder that was not completed', () => rmSync(path.join(target, '.unpacked'))],
    [
      'a link instead of the folder',
      () => {
        rmSync(path.join(folder, 'moved'), { recursive: true, force: true });
        renameSync(target, path.join(folder, 'moved'));
        symlinkSync(path.join(folder, 'moved'), target);
      },
    ],
    ['a folder that others can write to', () => chmodSync(target, 0o777)],
    [
      'a file instead of the folder',
      () => {
        rmSync(target, { recursive: true });
        writeFileSync(target, '');
      },
    ],
  ])('is unpacked again where there is %s', (_, damage) => {
    open();
    damage();
    expect(open()).toEqual({ found: target, unpacked: 1 });
    expect(open()).toEqual({ found: target, unpacked: 0 });
    expect(readdirSync(path.dirname(target))).toEqual([packed().digest]);
  });

  it('is unpacked again where a cache of another machine was restored, with changed files and an own marker', () => {
    open();
    const copy = path.join(folder, 'copy');
    cpSync(cache, copy, { recursive: true });
    writeFileSync(path.join(copy, 'program', packed().digest, 'a.js'), 'FIRST');
    rmSync(cache, { recursive: true });
    cpSync(copy, cache, { recursive: true });
    // Restored last, so that it is the newest one.
    const until = Date.now() + 20;
    while (Date.now() < until);
    cpSync(path.join(copy, 'program', packed().digest, '.unpacked'), path.join(target, '.unpacked'));
    expect(open()).toEqual({ found: target, unpacked: 1 });
    expect(open()).toEqual({ found: target, unpacked: 0 });
    rmSync(copy, { recursive: true });
  });

  it('is read again, and not unpacked, where its files are as they were', () => {
    open();
    chmodSync(path.join(target, 'a.js'), 0o400);
    expect(open()).toEqual({ found: target, unpacked: 0 });
  });

  it('runs where its files are as they were, and the marker cannot be written', () => {
    open();
    const marker = path.join(target, '.unpacked');
    rmSync(marker);
    // Nobody can write to it, not even root.
    mkdirSync(marker);
    expect(open()).toEqual({ found: target, unpacked: 0 });
    writeFileSync(path.join(target, 'a.js'), 'FIRST');
    expect(open()).toEqual({ found: target, unpacked: 1 });
  });

  it.each<[string, () => void]>([
    [
      'a link instead of its folder of programs',
      () => {
        mkdirSync(cache, { recursive: true });
        mkdirSync(path.join(folder, 'elsewhere'), { recursive: true });
        symlinkSync(path.join(folder, 'elsewhere'), path.join(cache, 'program'));
      },
    ],
    [
      'programs that others can change',
      () => {
        mkdirSync(path.join(cache, 'program'), { recursive: true });
        chmodSync(path.join(cache, 'program'), 0o777);
      },
    ],
    [
      'no protection from others',
      () => {
        mkdirSync(cache, { recursive: true });
        chmodSync(cache, 0o777);
      },
    ],
    ['a file in its place', () => writeFileSync(cache, '')],
    ...(isRoot
      ? ([
          [
            'another owner',
            () => {
              mkdirSync(cache, { recursive: true });
              chownSync(cache, 1_234, 1_234);
            },
          ],
          [
            'programs of another owner',
            () => {
              open();
              chownSync(path.dirname(target), 1_234, 1_234);
            },
          ],
        ] as [string, () => void][])
      : []),
  ])('is not in a cache with %s', (_, prepare) => {
    prepare();
    expect(open()).toEqual({ found: path.join(other, 'program', packed().digest), unpacked: 1 });
  });

  it.runIf(isRoot)('is unpacked again where another user owns a file or the folder', () => {
    for (const name of ['a.js', '.']) {
      open();
      chownSync(path.join(target, name), 1_234, 1_234);
      expect(open()).toEqual({ found: target, unpacked: 1 });
    }
  });

  it('is that of another process that unpacked at the same time', () => {
    const first = packed(() => void open());
    expect(open(first)).toEqual({ found: target, unpacked: 1 });
    expect(readdirSync(path.dirname(target))).toEqual([packed().digest]);
  });

  it('says for each folder why it cannot be there', () => {
    writeFileSync(cache, '');
    mkdirSync(other);
    chmodSync(other, 0o777);
    expect(() => openProgram(packed(), [cache, other], uid)).toThrow(
      /EEXIST.*; other users can change|ENOTDIR.*; other/,
    );
  });

  it('does not run if the executable is damaged', () => {
    const damaged = { ...packed(), unpack: () => new Map([['a.js', Buffer.from('FIRST')]]) };
    expect(() => openProgram(damaged, [cache], uid)).toThrow('the executable is damaged');
    expect(readdirSync(path.dirname(target))).toEqual([]);
  });

  it('removes other versions that were not used for a month, when it is unpacked', () => {
    const programs = path.dirname(target);
    const days = (count: number) => new Date(Date.now() - count * 86_400_000);
    for (const [name, age] of [
      ['old', 31],
      ['recent', 29],
      ['.temporary-left', 31],
    ] as const) {
      mkdirSync(path.join(programs, name), { recursive: true, mode: 0o700 });
      utimesSync(path.join(programs, name), days(age), days(age));
    }
    chmodSync(programs, 0o700);
    open();
    expect(readdirSync(programs).sort()).toEqual([packed().digest, 'recent'].sort());
    utimesSync(target, days(20), days(20));
    open();
    expect(statSync(target).mtimeMs).toBeGreaterThan(days(1).getTime());
    expect(existsSync(path.join(programs, 'recent'))).toBe(true);
  });
});
