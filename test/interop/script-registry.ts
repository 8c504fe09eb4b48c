import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, platform } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import { krmhub, type RunningRegistry, startRegistry } from '../running.js';
import { type EntryOptions, scriptEntry, sha256 } from './function-catalog.js';
import { registryHost } from './oci-tools.js';

const PLATFORM = `${platform()}/${arch() === 'arm64' ? 'arm64' : 'amd64'}`;

/** Functions that are scripts, in a registry of ours. */
export class ScriptRegistry {
  readonly registry: RunningRegistry;
  readonly #folder: string;

  private constructor(folder: string, registry: RunningRegistry) {
    this.#folder = folder;
    this.registry = registry;
  }

  /** Starts a registry and pushes scripts, given by their file name. */
  static async start(folder: string, scripts: Readonly<Record<string, string>>): Promise<ScriptRegistry> {
    mkdirSync(folder, { recursive: true });
    const registry = await startRegistry(path.join(folder, 'data'));
    const started = new ScriptRegistry(folder, registry);
    await Promise.all(Object.entries(scripts).map(([name, text]) => started.#push(name, text)));
    return started;
  }

  /** The entry of a catalog whose function is a script that was pushed. */
  entry(kind: string, name: string, text: string, options: EntryOptions = {}): string {
    return scriptEntry(kind, `oci://${this.#reference(name)}`, text, { bin: name, ...options });
  }

  /** The platforms of a definition whose function is a script that was pushed. */
  platforms(name: string, text: string): object[] {
    const [os, architecture] = PLATFORM.split('/');
    const uri = `oci://${this.#reference(name)}`;
    return [{ bin: name, os, arch: architecture, uri, sha256: sha256(text) }];
  }

  stop(): Promise<number | null> {
    return this.registry.stop();
  }

  async #push(name: string, text: string): Promise<void> {
    writeFileSync(path.join(this.#folder, name), text, { mode: 0o755 });
    const args = ['push', '--exec', `${PLATFORM}=${name}`, this.#reference(name)];
    const { code, stderr } = await krmhub(args, { cwd: this.#folder, env: this.registry.env });
    expect(code, stderr).toBe(0);
  }

  #reference(name: string): string {
    return `${registryHost(this.registry)}/scripts/${name.replace(/\W/g, '-')}:v1`;
  }
}
