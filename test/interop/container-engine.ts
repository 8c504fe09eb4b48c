import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, root } from '../running.js';

const execute = promisify(execFile);

/** The base image that is made from programs of this machine. */
export const BASE_IMAGE = 'localhost/krmhub-test-base';

/** Why containers cannot be run here; undefined if they can. */
export function whyNoContainers(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may make containers in a separate folder';
  const missing = ['podman', 'buildah', 'runc', 'ldd'].filter((name) => !isInstalled(name));
  return missing.length === 0 ? undefined : `${missing.join(', ')} not installed`;
}

export function isInstalled(name: string): boolean {
  return programPath(name) !== '';
}

/** Returns the path of a program on PATH; empty if there is none. */
export function programPath(name: string): string {
  return spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
}

export interface ContainerEngine {
  /** Has `podman` and `krmhub` on its PATH; `podman` uses only images and containers of this engine. */
  env: NodeJS.ProcessEnv;
  folder: string;
  podman(...args: string[]): Promise<string>;
  /** Makes an image from scratch with the content of a folder, and sets its configuration. */
  makeImage(name: string, folder: string, configuration: readonly string[]): Promise<void>;
  /** Ends and removes everything. */
  remove(): Promise<void>;
}

/**
 * Podman with all of its state in a temporary folder; reaches no image registry of others. With a base image of Node
 * unless it is not needed.
 */
export async function openContainerEngine({ withBase = true } = {}): Promise<ContainerEngine> {
  // With a longer path, the names of conmon's sockets are too long, and each `podman run` waits 20 seconds at its end.
  const folder = mkdtempSync(path.join(tmpdir(), 'engine-'));
  const at = (name: string) => path.join(folder, name);
  for (const name of ['bin', 'tmp', 'run']) mkdirSync(at(name));
  // Limits and control groups that work inside of another container.
  writeFileSync(
    at('containers.conf'),
    `[containers]\ndefault_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "runc"\n`,
  );
  writeFileSync(
    at('storage.conf'),
    `[storage]\ndriver = "vfs"\nrunroot = "${at('runroot')}"\ngraphroot = "${at('images')}"\n`,
  );
  writeFileSync(at('registries.conf'), 'unqualified-search-registries = []\n');
  // Settings that a document does not have: the base, and one vfs layer instead of many.
  writeFileSync(
    at('bin/podman'),
    `#!/bin/sh
real=$(PATH=\${PATH#*:} command -v podman)
if [ "$1" = build ]; then shift; set -- build --layers=false --build-arg BASE_IMAGE=${BASE_IMAGE} "$@"; fi
exec "$real" "$@"
`,
    { mode: 0o755 },
  );
  const env = cleanEnvironment(folder, {
    PATH: `${at('bin')}:${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
    CONTAINERS_CONF: at('containers.conf'),
    CONTAINERS_STORAGE_CONF: at('storage.conf'),
    CONTAINERS_REGISTRIES_CONF: at('registries.conf'),
    BUILDAH_ISOLATION: 'chroot',
    XDG_RUNTIME_DIR: at('run'),
    TMPDIR: at('tmp'),
  });
  const run = async (program: string, args: string[]) =>
    (await execute(program, args, { env, cwd: folder, maxBuffer: 1 << 24 })).stdout.trim();
  const podman = (...args: string[]) => run(at('bin/podman'), args);
  const engine: ContainerEngine = {
    env,
    folder,
    podman,
    makeImage: (name, content, configuration) =>
      makeImage(name, content, configuration, (...args) => run('buildah', args)),
    remove: async () => {
      await podman('rm', '--all', '--force', '--time', '0').catch(() => undefined);
      await podman('volume', 'rm', '--all', '--force').catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    if (withBase) await makeBaseImage(at('base'), engine);
  } catch (error) {
    await engine.remove();
    throw error;
  }
  return engine;
}

/**
 * Node, `env` for its scripts, `cat`, and the libraries that they load; no shell and no account but root's.
 */
async function makeBaseImage(folder: string, { makeImage }: ContainerEngine): Promise<void> {
  await copyPrograms(folder, {
    '/usr/bin/node': process.execPath,
    '/usr/bin/env': '/usr/bin/env',
    '/usr/bin/cat': '/bin/cat',
  });
  mkdirSync(path.join(folder, 'etc'));
  writeFileSync(path.join(folder, 'etc/passwd'), 'root:x:0:0:root:/:/sbin/nologin\n');
  await makeImage(BASE_IMAGE, folder, ['--env', 'PATH=/usr/bin']);
}

async function makeImage(
  name: string,
  folder: string,
  configuration: readonly string[],
  buildah: (...args: string[]) => Promise<string>,
): Promise<void> {
  const container = await buildah('from', 'scratch');
  await buildah('copy', '--quiet', container, folder, '/');
  await buildah('config', ...configuration, container);
  await buildah('commit', '--quiet', '--rm', container, name);
}

/** Copies programs of this machine, and the libraries that they load, to their paths below a folder. */
export async function copyPrograms(folder: string, programs: Record<string, string>): Promise<void> {
  const place = (from: string, to: string) => {
    const target = path.join(folder, to);
    if (existsSync(target)) return;
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(from, target);
  };
  for (const [to, from] of Object.entries(programs)) {
    place(from, to);
    const { stdout } = await execute('ldd', [from]);
    for (const [library] of stdout.matchAll(/\/\S+/g)) place(library, library);
  }
}
