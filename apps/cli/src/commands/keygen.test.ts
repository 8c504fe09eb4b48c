import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { readPublicKey } from '@krmhub/schema';
import { readPrivateKey } from '@krmhub/signing';
import { beforeEach, expect, it } from 'vitest';
import type { Input } from '../io/io.js';
import { runProgram } from '../program.js';
import { expectEnd, runTest, type TestIo, temporaryFolder, testIo } from '../testing/command-line.js';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
const keygen = (env: Record<string, string>, ...args: string[]) =>
  runTest(['keygen', ...args], { cwd: folder, env });
const opens = (password: string) => readPrivateKey(read('krmhub.key'), 'it', async () => password);

/** A user at a terminal who types one line after the other. */
async function typing(...lines: string[]): Promise<TestIo> {
  const io = testIo({ tty: true, cwd: folder });
  const stdin: Input = Readable.from(lines.map((line) => Buffer.from(`${line}\r`)));
  stdin.isTTY = true;
  io.stdin = stdin;
  await runProgram(['keygen'], io);
  return io;
}

it('writes a private key that only its owner can read, and prints the fingerprint', async () => {
  const { exitCode, out, err } = await keygen({ KRMHUB_KEY_PASSWORD: 'one', COSIGN_PASSWORD: 'two' });
  expect(exitCode).toBe(0);
  expect(out()).toBe(`${readPublicKey(read('krmhub.pub'), 'it').fingerprint}\n`);
  expect(err()).toContain('wrote krmhub.key');
  expect(statSync(path.join(folder, 'krmhub.key')).mode & 0o777).toBe(0o600);
  await opens('one');
  expect(out() + err()).not.toContain('one\n');
});

it('uses COSIGN_PASSWORD if KRMHUB_KEY_PASSWORD is not set', async () => {
  await keygen({ COSIGN_PASSWORD: 'two' });
  await opens('two');
});

it('accepts an empty password only from the environment, with a warning', async () => {
  const { exitCode, err } = await keygen({ KRMHUB_KEY_PASSWORD: '' });
  expect([exitCode, err()]).toEqual([0, expect.stringContaining('the password is empty')]);
  await opens('');
});

it('prompts twice without showing the password', async () => {
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

it('explains how to set a password without a terminal', async () => {
  const { exitCode, err } = await keygen({});
  expect([exitCode, err()]).toEqual([2, expect.stringContaining('Set KRMHUB_KEY_PASSWORD')]);
  expect(readdirSync(folder)).toEqual([]);
});

it('replaces an existing key only with --overwrite', async () => {
  const env = { KRMHUB_KEY_PASSWORD: 'one' };
  await keygen(env, '--out', 'keys/release');
  const before = read('keys/release.key');
  expectEnd(await keygen(env, '--out', 'keys/release'), 1, 'already exists');
  expect(read('keys/release.key')).toBe(before);
  rmSync(path.join(folder, 'keys/release.key'));
  expect((await keygen(env, '--out', 'keys/release')).exitCode).toBe(1);
  expect((await keygen(env, '--out', 'keys/release', '--overwrite')).exitCode).toBe(0);
  expect(read('keys/release.key')).not.toBe(before);
  expect(readdirSync(path.join(folder, 'keys')).sort()).toEqual(['release.key', 'release.pub']);
});
