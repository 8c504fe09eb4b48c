import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, platform } from 'node:os';
import path from 'node:path';
import { expect, vi } from 'vitest';
import { krmhub, type RunningRegistry, startRegistry } from '../running.js';
import { CONFIG_MAP, configText, definitionText, setting, sha256 } from './function-catalog.js';
import { registryHost } from './oci-tools.js';

/** An application whose kustomization uses a function of a registry of ours. The function is a script. */

export const SHOP_PLATFORM = `${platform()}/${arch() === 'arm64' ? 'arm64' : 'amd64'}`;

export interface SampleShop {
  registry: RunningRegistry;
  /** URL of the catalog that has the function. */
  catalog: string;
  /** Public key that signs the catalog. */
  key: string;
  /** Publishes a release of SetOwner, whose runs set `owner`, and waits until the catalog has it. */
  release(release: string, owner: string): Promise<void>;
  /** Writes the application; `runtime` is the text of the function annotation, for one that is written by hand. */
  write(folder: string, runtime?: string): void;
}

export async function startShop(folder: string): Promise<SampleShop> {
  const registry = await startRegistry(path.join(folder, 'data'));
  const catalog = `${registry.url}/catalogs/default`;
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await krmhub(args, { cwd: folder, env: registry.env });
    expect(code, stdout + stderr).toBe(0);
    return stdout;
  };
  const release = async (name: string, owner: string) => {
    const script = setting('owner', owner);
    const reference = `${registryHost(registry)}/scripts/set-owner:${name}`;
    writeFileSync(path.join(folder, 'set-owner'), script, { mode: 0o755 });
    await command('push', '--exec', `${SHOP_PLATFORM}=set-owner`, reference);
    const [os, cpu] = SHOP_PLATFORM.split('/');
    const executable = { os, arch: cpu, bin: 'set-owner', uri: `oci://${reference}`, sha256: sha256(script) };
    const definition = definitionText('SetOwner', { exec: { platforms: [executable] } });
    writeFileSync(path.join(folder, 'definition.json'), definition);
    await command('publish', 'definition.json', '--release', name);
    const entry = `${catalog}/functions/example.com/SetOwner.yaml`;
    const hasRelease = async () => (await (await fetch(entry)).text()).includes(sha256(script));
    await vi.waitUntil(hasRelease, { timeout: 60_000, interval: 50 });
  };
  await release('1.0.0', 'shop');
  const { keys } = JSON.parse(await command('key', 'list', '-o', 'json')) as {
    keys: { publicKey: string }[];
  };
  return {
    registry,
    catalog,
    key: keys[0]!.publicKey,
    release,
    write(at, runtime) {
      mkdirSync(at, { recursive: true });
      const write = (name: string, text: string) => writeFileSync(path.join(at, name), text);
      const catalogs = runtime === undefined ? `catalogs:\n- ${catalog}\n` : '';
      write(
        'kustomization.yaml',
        `${catalogs}namePrefix: shop-\nresources:\n- settings.yaml\ntransformers:\n- owner.yaml\n`,
      );
      write('settings.yaml', CONFIG_MAP);
      write('owner.yaml', configText('SetOwner', runtime === undefined ? {} : { runtime }));
    },
  };
}
