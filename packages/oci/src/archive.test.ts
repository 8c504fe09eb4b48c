import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { storedGzip, tarArchive } from './archive.js';

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-archive-'));

const bytes = (text: string) => Buffer.from(text);
const hasTar = spawnSync('tar', ['--version']).status === 0;

describe('a tar archive', () => {
  const files = [
    { name: 'a.yaml', bytes: bytes('a: 1\n') },
    { name: 'empty.yaml', bytes: bytes('') },
    { name: `deep/${'long-'.repeat(30)}/b.yaml`, bytes: bytes('b'.repeat(1_500)) },
    { name: 'größe.yaml', bytes: bytes('c') },
    // The length of its record has a digit more than the text alone.
    { name: 'x'.repeat(990), bytes: bytes('d') },
    { name: `${'y'.repeat(99)}z`, bytes: bytes('of exactly 100 bytes') },
  ];

  it.skipIf(!hasTar)('is what tar unpacks', () => {
    // No file system has a name of 990 characters.
    const readable = files.filter(({ name }) => name.length < 250);
    writeFileSync(path.join(folder, 'a.tar'), tarArchive(readable));
    const unpack = spawnSync('tar', ['-xf', '../a.tar'], { cwd: makeFolder('out'), encoding: 'utf8' });
    expect(unpack.status, unpack.stderr).toBe(0);
    for (const { name, bytes: content } of readable) {
      expect(readFileSync(path.join(folder, 'out', name)).equals(content)).toBe(true);
      expect(statSync(path.join(folder, 'out', name)).mtimeMs).toBe(0);
    }
    expect(readdirSync(path.join(folder, 'out')).sort()).toHaveLength(readable.length);
  });

  it('has whole blocks and depends only on names and contents', () => {
    const archive = tarArchive(files);
    expect(archive.byteLength % 512).toBe(0);
    expect(Buffer.from(tarArchive(files)).equals(archive)).toBe(true);
    expect(Buffer.from(archive).includes(`1001 path=${'x'.repeat(990)}\n`)).toBe(true);
    expect(tarArchive([])).toEqual(Buffer.alloc(1_024));
  });
});

function makeFolder(name: string): string {
  const at = path.join(folder, name);
  spawnSync('mkdir', ['-p', at]);
  return at;
}

describe('a gzip file without compression', () => {
  it.each([0, 1, 65_534, 65_535, 65_536, 131_070, 200_000])('of %i bytes is what gunzip reads', (size) => {
    const content = Buffer.alloc(size, 'krmhub');
    const file = storedGzip(content);
    expect(gunzipSync(file).equals(content)).toBe(true);
    expect(file.byteLength).toBe(10 + 8 + size + 5 * Math.max(1, Math.ceil(size / 65_535)));
  });
});
