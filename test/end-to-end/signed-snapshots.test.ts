import { cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { krmhubHere } from '../run-here.js';
import {
  fixtures,
  krmhub,
  type RunningRegistry,
  settingsOf,
  startRegistry,
  temporaryFolder,
} from '../running.js';

const { folder, remove } = temporaryFolder();
const data = path.join(folder, 'data');
const home = path.join(folder, 'home');
let registry: RunningRegistry;

beforeAll(async () => {
  mkdirSync(home);
  registry = await startRegistry(data);
  // The serials count from the empty catalog, which a busy machine builds after the start.
  const isBuilt = async () => (await fetch(`${registry.url}/catalogs/default/catalog.yaml`)).ok;
  await vi.waitUntil(isBuilt, { timeout: 60_000, interval: 100 });
  await publish('1.0.0');
});
afterAll(async () => {
  await registry.stop();
  remove();
});

const run = (...args: string[]) => krmhubHere(args, { cwd: home, env: registry.env });
async function publish(release: string) {
  const file = path.join(fixtures, `functions/set-labels/${release}.yaml`);
  const { code, stderr } = await run('publish', file, '--allow-breaking');
  expect([code, stderr]).toEqual([0, expect.any(String)]);
}
interface Key {
  fingerprint: string;
  publicKey: string;
}
async function announced(): Promise<Key[]> {
  const response = await fetch(`${registry.url}/.well-known/krmhub-keys.json`);
  expect(response.headers.get('cache-control')).toBe('public, max-age=60');
  return ((await response.json()) as { keys: Key[] }).keys;
}
function pin(name: string, { publicKey }: Key): string {
  writeFileSync(path.join(home, name), publicKey);
  return name;
}
const verify = async (key: string, ...args: string[]) => {
  const result = await run('catalog', 'verify', 'default', '--key', key, ...args, '-o', 'json');
  return { ...result, told: JSON.parse(result.stdout || '{}') };
};

it('verifies a catalog with one pinned key, and again without the registry', async () => {
  const [key] = await announced();
  pin('registry.pub', key!);
  const online = await verify('registry.pub', '--out', 'kept');
  expect([online.code, online.told]).toMatchObject([0, { verified: true, serial: 2, key: key!.fingerprint }]);
  const offline = await verify('registry.pub', '--files', 'kept');
  expect([offline.code, offline.told]).toMatchObject([0, { verified: true, serial: 2 }]);
});

it('rotates its key while it serves: both are listed, and only clients that pin the new one continue', async () => {
  const before = await announced();
  // As an operator does it, beside the running process.
  const rotated = await run('key', 'rotate', '--data', data, '-o', 'json');
  expect(rotated.code, rotated.stderr).toBe(0);
  // A start checks at once; a running registry checks every minute.
  expect(await registry.stop()).toBe(0);
  registry = await startRegistry(data);
  const after = await announced();
  expect(after.map(({ fingerprint }) => fingerprint)[1]).toBe(before[0]!.fingerprint);
  expect(after).toHaveLength(2);
  pin('new.pub', after[0]!);

  const target = `${registry.url}/catalogs/default`;
  const refused = await run('catalog', 'verify', target, '--key', 'registry.pub');
  expect([refused.code, refused.stderr]).toEqual([
    4,
    expect.stringContaining(`signed by the key ${after[0]!.fingerprint}, expected ${before[0]!.fingerprint}`),
  ]);
  expect(refused.stderr).toContain('/.well-known/krmhub-keys.json');
  const trusted = await verify('new.pub');
  // The same snapshot with another signature.
  expect([trusted.code, trusted.told]).toMatchObject([0, { serial: 2, key: after[0]!.fingerprint }]);
  await publish('1.1.0');
  // Another process may show it some milliseconds later.
  await expect.poll(async () => (await verify('new.pub')).told).toMatchObject({ verified: true, serial: 3 });
  const old = await run('catalog', 'verify', target, '--snapshot', '1', '--key', 'registry.pub');
  expect([old.code, old.stderr]).toEqual([0, expect.stringContaining('verified snapshot 1 of')]);
  expect((await run('fsck', '--data', data)).code).toBe(0);
});

it('continues to sign with the same keys after a restore', async () => {
  const backup = path.join(folder, 'backup');
  expect((await run('backup', '--data', data, '--out', backup)).code).toBe(0);
  const keys = path.join(backup, 'keys');
  expect(statSync(keys).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(keys)) expect(statSync(path.join(keys, name)).mode & 0o777).toBe(0o600);
  const restore = async (target: string) => {
    const { code, stderr } = await krmhubHere(['restore', backup, '--data', target], {
      env: await settingsOf(target),
    });
    expect(code, stderr).toBe(0);
  };
  const restored = path.join(folder, 'restored');
  await restore(restored);
  expect(await registry.stop()).toBe(0);
  registry = await startRegistry(restored);
  const list = JSON.parse((await run('key', 'list', '--data', restored, '-o', 'json')).stdout) as {
    keys: Key[];
  };
  expect(list.keys.map(({ fingerprint }) => fingerprint)).toEqual(
    (await announced()).map(({ fingerprint }) => fingerprint),
  );
  await publish('2.0.0');
  await expect.poll(async () => (await verify('new.pub')).told).toMatchObject({ verified: true, serial: 4 });
  expect((await run('fsck', '--data', restored)).code).toBe(0);
  // A client rejects an older state of the registry as the newest, though its signature is valid.
  expect(await registry.stop()).toBe(0);
  const again = path.join(folder, 'again');
  await restore(again);
  // Its address is another one; the memory is by key and name.
  registry = await startRegistry(again);
  const rolledBack = await verify('new.pub');
  expect([rolledBack.code, rolledBack.stderr]).toEqual([
    4,
    expect.stringContaining('the registry serves snapshot 3 as the newest'),
  ]);
});

it('does not start if a key was removed, and prints what to do', async () => {
  const without = path.join(folder, 'without');
  cpSync(path.join(folder, 'backup'), without, { recursive: true, filter: (name) => !name.includes('keys') });
  const refused = await krmhub(['serve', '--port', '0', '--data', without]);
  expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('its keys are missing')]);
  expect(refused.stderr).toContain('krmhub key rotate');
  expect(readdirSync(without)).not.toContain('keys');
});
