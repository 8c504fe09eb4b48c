import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sha256, type Takedown } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { openTakedownRecord, parseTakedowns } from './record.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-record-'));
  file = path.join(folder, 'takedowns.jsonl');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const takedown = (release: string): Takedown => ({
  group: 'example.com',
  kind: 'SetLabels',
  release,
  digest: sha256(release),
  at: '2030-01-02T03:04:05.678Z',
  by: 'root',
  reason: 'holds\na "password" \u2028',
});
const parse = (text: string) => parseTakedowns(new TextEncoder().encode(text), 'record');

describe('the takedown record', () => {
  it('stores each takedown once, in order, readable only by its owner', async () => {
    const record = openTakedownRecord(file);
    expect(await record.read()).toEqual([]);
    await record.add([takedown('1.0.0')]);
    await record.add([]);
    await record.add([takedown('1.0.0'), takedown('2.0.0')]);
    expect(await openTakedownRecord(file).read()).toEqual([takedown('1.0.0'), takedown('2.0.0')]);
    expect((await readFile(file, 'utf8')).split('\n')).toHaveLength(3);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('loses nothing of changes at the same time', async () => {
    const record = openTakedownRecord(file);
    const takedowns = Array.from({ length: 20 }, (_, at) => takedown(`${at}.0.0`));
    await Promise.all(takedowns.flatMap((one) => [record.add([one]), record.allowRuntimes([one])]));
    expect(await record.read()).toEqual(takedowns);
  });

  it('keeps signers, and adds those that a line of an older version lacks', async () => {
    const record = openTakedownRecord(file);
    const key = { type: 'key', fingerprint: sha256('a key') } as const;
    const person = { type: 'identity', issuer: 'https://issuer.example', subject: 'a@example.com' } as const;
    await record.add([takedown('1.0.0'), { ...takedown('2.0.0'), signers: [key] }]);
    const before = await stat(file);
    await record.add([takedown('2.0.0')]);
    expect((await stat(file)).ino).toBe(before.ino);
    await record.add([
      { ...takedown('1.0.0'), signers: [person, { type: 'unidentified' }] },
      { ...takedown('2.0.0'), signers: [key, person] },
    ]);
    expect(await openTakedownRecord(file).read()).toEqual([
      { ...takedown('1.0.0'), signers: [person, { type: 'unidentified' }] },
      { ...takedown('2.0.0'), signers: [key, person] },
    ]);
  });

  it('keeps the digests that were deleted, and those that its runtimes named', async () => {
    const digests = { scripts: [sha256('script')], runtimeDigests: [sha256('image'), sha256('program')] };
    await openTakedownRecord(file).add([{ ...takedown('1.0.0'), ...digests }]);
    expect(await openTakedownRecord(file).read()).toEqual([{ ...takedown('1.0.0'), ...digests }]);
    for (const name of ['scripts', 'runtimeDigests']) {
      const line = JSON.stringify({ type: 'release.taken-down', ...takedown('1.0.0'), [name]: ['none'] });
      expect(() => parse(line)).toThrow('lines 1');
    }
  });

  it('names a line with invalid signers', () => {
    const line = (signers: unknown) =>
      JSON.stringify({ type: 'release.taken-down', ...takedown('1.0.0'), signers });
    const invalid = [
      'x',
      {},
      [null],
      [{ type: 'key' }],
      [{ type: 'key', fingerprint: 'sha256:x' }],
      [{ type: 'identity', issuer: 'https://issuer.example' }],
      [{ type: 'identity', issuer: '', subject: 'a' }],
      [{ type: 'anyone' }],
    ];
    for (const signers of invalid) expect(() => parse(line(signers)), line(signers)).toThrow('lines 1');
    expect(parse(line([]))).toEqual([takedown('1.0.0')]);
  });

  it('replaces an unfinished write', async () => {
    await writeFile(`${file}.unfinished`, '{"half');
    await openTakedownRecord(file).add([takedown('1.0.0')]);
    expect(await openTakedownRecord(file).read()).toEqual([takedown('1.0.0')]);
  });

  it('reports why it cannot be read', async () => {
    await mkdir(file);
    await expect(openTakedownRecord(file).read()).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('accepts a saved revocation feed', () => {
    const event = { sequence: 7, type: 'release.taken-down', ...takedown('1.0.0') };
    const yank = { sequence: 8, type: 'release.yanked', ...takedown('2.0.0') };
    expect(parse(`${JSON.stringify(yank)}\n\n${JSON.stringify(event)}\n`)).toEqual([takedown('1.0.0')]);
  });

  it('accepts a page of that feed', () => {
    const event = { sequence: 7, type: 'release.taken-down', ...takedown('1.0.0') };
    expect(parse(JSON.stringify({ revocations: [event], next: 7 }))).toEqual([takedown('1.0.0')]);
    expect(() => parse(JSON.stringify({ revocations: [{ type: 'release.taken-down' }] }))).toThrow('lines 1');
    expect(() => parse('{}')).toThrow('lines 1');
  });

  it('names every invalid line of a damaged record', () => {
    const good = { type: 'release.taken-down', ...takedown('1.0.0') };
    const lines = [
      '{"half',
      JSON.stringify(good),
      'null',
      JSON.stringify({ ...good, digest: 'sha256:x' }),
      JSON.stringify({ ...good, release: 'v1' }),
      JSON.stringify({ ...good, group: '../etc' }),
      JSON.stringify({ ...good, at: 'yesterday' }),
      JSON.stringify({ ...good, by: '' }),
      JSON.stringify({ ...good, reason: undefined }),
      JSON.stringify(takedown('1.0.0')),
    ];
    expect(() => parse(lines.join('\n'))).toThrow('1, 3, 4, 5, 6, 7, 8, 9, 10');
  });

  it('is limited in size', () => {
    const blank = new Uint8Array(SERVER_LIMITS.maxTakedownRecordBytes).fill(32);
    expect(parseTakedowns(blank, 'record')).toEqual([]);
    const more = new Uint8Array(SERVER_LIMITS.maxTakedownRecordBytes + 1).fill(32);
    expect(() => parseTakedowns(more, 'record')).toThrow(/exceeds/);
  });
});
