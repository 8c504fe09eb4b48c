import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { spawn, spawnSync } from '../processes.js';
import { cleanEnvironment, command, type Finished } from '../running.js';
import { type ContainerEngine, isInstalled } from './container-engine.js';

/** The programs that build a kustomization, with the arguments before the folder. */
export const ORACLES = [
  { program: 'kustomize', command: 'build' },
  { program: 'kubectl', command: 'kustomize' },
] as const;
export type Oracle = (typeof ORACLES)[number];

export const missingOracles = (): string | undefined => {
  const missing = ORACLES.flatMap(({ program }) => (isInstalled(program) ? [] : [program]));
  return missing.length === 0 ? undefined : `${missing.join(', ')} not installed`;
};

/**
 * Someone who builds kustomizations in a folder, with temporary files of their own; with containers, if there is an
 * engine, by podman under the name of docker.
 */
export class BuildUser {
  readonly folder: string;
  readonly temporary: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #hasContainers: boolean;
  readonly #started = new Set<ChildProcess>();

  constructor(folder: string, engine?: ContainerEngine) {
    this.folder = folder;
    this.temporary = path.join(folder, 'tmp');
    mkdirSync(this.temporary, { recursive: true });
    if (engine !== undefined) {
      // Beside `podman`, which looks for the real one in all other folders.
      writeFileSync(path.join(engine.folder, 'bin/docker'), '#!/bin/sh\nexec podman "$@"\n', { mode: 0o755 });
    }
    this.env = cleanEnvironment(folder, {
      ...(engine?.env as Record<string, string> | undefined),
      HOME: folder,
      TMPDIR: this.temporary,
      XDG_CACHE_HOME: path.join(folder, 'cache'),
    });
    this.#hasContainers = engine !== undefined;
  }

  /** Writes files below the folder, given by their path. */
  write(files: Record<string, string>): this {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(this.folder, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return this;
  }

  krmhub(...args: string[]): Promise<Finished> {
    return this.run(process.execPath, [command, ...args]);
  }

  /** What kustomize or kubectl make of a kustomization that was written by hand. */
  byHand({ program, command: verb }: Oracle, folder: string, ...flags: string[]): Promise<Finished> {
    return this.run(program, [verb, folder, ...flags]);
  }

  start(program: string, args: readonly string[], options: { detached?: boolean } = {}) {
    const child = spawn(program, args, {
      ...options,
      cwd: this.folder,
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#started.add(child);
    child.on('close', () => this.#started.delete(child));
    return child;
  }

  /** Ends what was started and still runs. */
  endAll(): void {
    for (const child of this.#started) child.kill('SIGKILL');
  }

  async run(program: string, args: readonly string[]): Promise<Finished> {
    const child = this.start(program, args);
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
      });
    }
    const [code] = await once(child, 'close');
    return { code, ...output };
  }

  /** Every file below a folder with its text, to see that nothing changed. */
  snapshot(folder: string): Record<string, string> {
    const names = readdirSync(path.join(this.folder, folder), { recursive: true, withFileTypes: true });
    return Object.fromEntries(
      names
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name))
        .map((file) => [file, readFileSync(file, 'utf8')]),
    );
  }

  /** What is left in the folder for temporary files, and containers. */
  leftovers(): string[] {
    const files = readdirSync(this.temporary);
    if (!this.#hasContainers) return files;
    const { stdout } = spawnSync('podman', ['ps', '--all', '--quiet'], { env: this.env, encoding: 'utf8' });
    return [...files, ...stdout.split('\n').filter((id) => id !== '')];
  }
}
