import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { RunningRegistry } from '../running.js';
import { type ContainerEngine, copyPrograms } from './container-engine.js';
import { manifestAt, newToken, registryHost } from './oci-tools.js';

const execute = promisify(execFile);

/** Functions as small images, built from scratch and pushed to a registry of ours. */

export interface FunctionImage {
  /** `HOST/images/NAME:v1.0.0` */
  tagged: string;
  /** `HOST/images/NAME@sha256:…` */
  pinned: string;
  /** 64 hexadecimal digits. */
  sha256: string;
}

export class ImageBuilder {
  readonly #engine: ContainerEngine;
  readonly #registry: RunningRegistry;
  #token: string | undefined;
  /** What the images have besides their script. */
  readonly #roots = new Set<string>();

  constructor(engine: ContainerEngine, registry: RunningRegistry) {
    this.#engine = engine;
    this.#registry = registry;
  }

  /** Pushes an image whose entry point is a shell script; it has `cat`, `sed` and `sleep`. */
  push(name: string, script: string): Promise<FunctionImage> {
    const programs = ['sh', 'cat', 'sed', 'sleep'].map((program) => [`/bin/${program}`, `/bin/${program}`]);
    return this.#push(name, `#!/bin/sh\nset -eu\n${script}`, Object.fromEntries(programs));
  }

  /** Pushes an image whose entry point is a script of Node.js. */
  pushNode(name: string, script: string): Promise<FunctionImage> {
    return this.#push(name, script, { '/bin/node': process.execPath, '/usr/bin/env': '/usr/bin/env' });
  }

  async #push(name: string, script: string, programs: Record<string, string>): Promise<FunctionImage> {
    const root = await this.#baseFolder(programs);
    const folder = path.join(this.#engine.folder, `image-${name}`);
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'function'), script, { mode: 0o755 });
    const container = await this.#buildah('from', 'scratch');
    await this.#buildah('copy', '--quiet', container, root, '/');
    await this.#buildah('copy', '--quiet', container, folder, '/');
    await this.#buildah('config', '--env', 'PATH=/bin', '--entrypoint', '["/function"]', container);
    await this.#buildah('commit', '--quiet', '--rm', container, `localhost/${name}`);
    const host = registryHost(this.#registry);
    const repository = `images/${name}`;
    this.#token ??= await newToken(this.#registry, 'images', '--scope', 'push', '--repository', 'images/*');
    await this.#buildah(
      'push',
      '--tls-verify=false',
      '--creds',
      `anybody:${this.#token}`,
      `localhost/${name}`,
      `docker://${host}/${repository}:v1.0.0`,
    );
    const { digest } = await manifestAt(this.#registry.url, repository, 'v1.0.0');
    // A user who runs it has to pull it.
    await this.#engine.podman('rmi', '--force', `localhost/${name}`);
    return {
      tagged: `${host}/${repository}:v1.0.0`,
      pinned: `${host}/${repository}@${digest}`,
      sha256: digest!.slice('sha256:'.length),
    };
  }

  async #baseFolder(programs: Record<string, string>): Promise<string> {
    const root = path.join(
      this.#engine.folder,
      `root-${Object.keys(programs)
        .map((file) => path.basename(file))
        .join('-')}`,
    );
    if (this.#roots.has(root)) return root;
    await copyPrograms(root, programs);
    mkdirSync(path.join(root, 'etc'), { recursive: true });
    // kustomize runs functions as the user of this name.
    writeFileSync(path.join(root, 'etc/passwd'), 'nobody:x:65534:65534:nobody:/:/bin/sh\n');
    this.#roots.add(root);
    return root;
  }

  async #buildah(...args: string[]): Promise<string> {
    const { env, folder } = this.#engine;
    return (await execute('buildah', args, { env, cwd: folder, maxBuffer: 1 << 24 })).stdout.trim();
  }
}

/** Prints the ResourceList with an annotation on every resource. */
export const annotating = (name: string, value: string) => `
exec sed -e 's|^    annotations:$|    annotations:\\n      ${name}: "${value}"|'
`;

/** Appends a resource to the items. */
export const adding = (resource: string) => `
sed -e '/^functionConfig:/,$d'
cat <<'END'
${resource.trimEnd().replace(/^/gm, '  ').replace(/^ {2}/, '- ')}
END
`;
