import childProcess from 'node:child_process';
import dns from 'node:dns';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { runTest, type TestIo } from '../testing/command-line.js';
import { GROUP, proxiedRegistry } from '../testing/proxied-registry.js';

/** Lock files with functions of a catalog whose key is pinned. */

const opened = proxiedRegistry();
const lockFile = () => path.join(opened.folder, 'app/krmhub.lock');
const lockText = () => readFile(lockFile(), 'utf8');

async function run(...args: string[]): Promise<TestIo & { said: string }> {
  const io = await runTest(args, { cwd: opened.folder, env: opened.env() });
  return { ...io, exitCode: io.exitCode, said: io.out() + io.err() };
}
async function pin(): Promise<void> {
  const { keys } = await opened.client.registryKeys();
  await writeFile(path.join(opened.folder, 'registry.pub'), keys[0]!.publicKey);
  expect((await run('trust', 'add', opened.catalogUrl(), '--key', 'registry.pub')).exitCode).toBe(0);
}

beforeEach(async () => {
  await opened.publish('Peel', '1.0.0');
  const app = path.join(opened.folder, 'app');
  await mkdir(app);
  const kustomization = `catalogs: ["${opened.catalogUrl()}"]\ntransformers: [peel.yaml]\n`;
  await writeFile(path.join(app, 'kustomization.yaml'), kustomization);
  await writeFile(
    path.join(app, 'peel.yaml'),
    `apiVersion: ${GROUP}/v1\nkind: Peel\nmetadata: {name: peel}\n`,
  );
});

describe('the lock of a catalog whose key is pinned', () => {
  it('contains the key, and runs frozen without a connection, a look-up, or a program', async () => {
    await pin();
    expect((await run('lock', 'app')).exitCode).toBe(0);
    expect(await lockText()).toMatch(
      / {2}name: default\n {2}serial: \d+\n {2}digest: sha256:[0-9a-f]{64}\n {2}key: sha256:[0-9a-f]{64}\n/,
    );
    const spies = [
      vi.spyOn(net.Socket.prototype, 'connect'),
      vi.spyOn(dns, 'lookup'),
      vi.spyOn(childProcess, 'spawn'),
    ];
    try {
      expect((await run('explain', 'app', '--frozen')).exitCode).toBe(0);
      for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
  });

  it('names the key when it is written again after it was pinned', async () => {
    expect((await run('lock', 'app', '--trusted-catalog', opened.catalogUrl())).exitCode).toBe(0);
    const before = await lockText();
    expect(before).not.toContain('key:');
    await pin();
    const frozen = await run('explain', 'app', '--frozen');
    expect([frozen.exitCode, frozen.said]).toEqual([
      4,
      expect.stringContaining('its key is pinned, but the lock file does not contain the key'),
    ]);
    expect(frozen.said).toContain('krmhub lock');
    // Where the catalog can be read, its signature says enough.
    expect((await run('explain', 'app')).exitCode).toBe(0);
    const otherKey = before.replace(/^( {2}digest: .*\n)/m, `$1  key: sha256:${'e'.repeat(64)}\n`);
    await writeFile(lockFile(), otherKey);
    const other = await run('explain', 'app', '--frozen');
    expect([other.exitCode, other.said]).toEqual([4, expect.stringContaining('but another key is pinned')]);
    await writeFile(lockFile(), before);
    expect((await run('lock', 'app')).err()).toContain('wrote');
    expect((await lockText()).replace(/^ {2}key: .*\n/m, '')).toBe(before);
    for (const args of [
      ['explain', 'app'],
      ['explain', 'app', '--frozen'],
      ['lock', 'app', '--check'],
    ]) {
      expect((await run(...args)).exitCode).toBe(0);
    }
  });
});
