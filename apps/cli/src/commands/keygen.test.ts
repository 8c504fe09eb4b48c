import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { readPublicKey } from '@krmhub/schema';
import { readPrivateKey } from '@krmhub/signing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Input } from '../io/io.js';
import { runProgram } from '../program.js';
import { runTest, type TestIo, testIo } from '../testing/command-line.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'krmhub-keygen-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
const keygen = (env: Record<string, string>, ...args: string[]) =>
  runTest(['keygen', ...args], { cwd: folder, env });
const opens = (password: string) => readPrivateKey(read('krmhub.key'), 'it', async () => password);

/** Somebody at a terminal who types one line after the other. */
async function typing(...lines: string[]): Promise<TestIo> {
  const io = testIo({ tty: true, cwd: folder });
  const stdin: Input = Readable.from(lines.map((line) => Buffer.from(`${line}\r`)));
  stdin.isTTY = true;
  io.stdin = stdin;
  await runProgram(['keygen'], io);
  return io;
}

it('writes a key for its owner alone, and prints the fingerprint of the public one', async () => {
  const { exitCode, out, err } = await keygen({ KRMHUB_KEY_PASSWORD: 'one', COSIGN_PASSWORD: 'two' });
  expect(exitCode).toBe(0);
  expect(out()).toBe(`${readPublicKey(read('krmhub.pub'), 'it').fingerprint}\n`);
  expect(err()).toContain('wrote krmhub.key');
  expect(statSync(path.join(folder, 'krmhub.key')).mode & 0o777).toBe(0o600);
  await opens('one');
  expect(out() + err()).not.toContain('one\n');
});

it('takes the password of cosign where there is none of ours', async () => {
  await keygen({ COSIGN_PASSWORD: 'two' });
  await opens('two');
});

it('warns of a password that is empty, and takes it where it is said so', async () => {
  const { exitCode, err } = await keygen({ KRMHUB_KEY_PASSWORD: '' });
  expect([exitCode, err()]).toEqual([0, expect.stringContaining('the password is empty')]);
  await opens('');
});

it('asks twice at a terminal, without showing it', async () => {
  const { exitCode, out, err } = await typing('secret', 'secret');
  expect(exitCode).toBe(0);
  expect(err()).toContain('Password for the new key: ');
  expect(out() + err()).not.toContain('secret');
  await opens('secret');
});

it.for([
  ['two that differ', ['secret', 'secrte']],
  ['an empty one', ['']],
] as const)('writes nothing for passwords: %s', async ([, lines]) => {
  const { exitCode, err } = await typing(...lines);
  expect([exitCode, err()]).toEqual([2, expect.stringContaining('cannot create the key: ')]);
  expect(readdirSync(folder)).toEqual([]);
});

it('says how a password is given where there is no terminal', async () => {
  const { exitCode, err } = await keygen({});
  expect([exitCode, err()]).toEqual([2, expect.stringContaining('Set KRMHUB_KEY_PASSWORD')]);
  expect(readdirSync(folder)).toEqual([]);
});

it('replaces no key that is there, unless it is told to', async () => {
  const env = { KRMHUB_KEY_PASSWORD: 'one' };
  await keygen(env, '--out', 'keys/release');
  const before = read('keys/release.key');
  const refused = await keygen(env, '--out', 'keys/release');
  expect([refused.exitCode, refused.err()]).toEqual([1, expect.stringContaining('already exists')]);
  expect(read('keys/release.key')).toBe(before);
  rmSync(path.join(folder, 'keys/release.key'));
  expect((await keygen(env, '--out', 'keys/release')).exitCode).toBe(1);
  expect((await keygen(env, '--out', 'keys/release', '--overwrite')).exitCode).toBe(0);
  expect(read('keys/release.key')).not.toBe(before);
  expect(readdirSync(path.join(folder, 'keys')).sort()).toEqual(['release.key', 'release.pub']);
});
