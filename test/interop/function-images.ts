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
  #root: string | undefined;

  constructor(engine: ContainerEngine, registry: RunningRegistry) {
    this.#engine = engine;
    this.#registry = registry;
  }

  /** Pushes an image whose entry point is a shell script; it has `cat`, `sed` and `sleep`. */
  async push(name: string, script: string): Promise<FunctionImage> {
    const root = await this.#baseFolder();
    const folder = path.join(this.#engine.folder, `image-${name}`);
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'function'), `#!/bin/sh\nset -eu\n${script}`, { mode: 0o755 });
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
    // Whoever runs it has to pull it.
    await this.#engine.podman('rmi', '--force', `localhost/${name}`);
    return {
      tagged: `${host}/${repository}:v1.0.0`,
      pinned: `${host}/${repository}@${digest}`,
      sha256: digest!.slice('sha256:'.length),
    };
  }

  async #baseFolder(): Promise<string> {
    if (this.#root !== undefined) return this.#root;
    const root = path.join(this.#engine.folder, 'image-root');
    const programs = ['sh', 'cat', 'sed', 'sleep'].map((name) => [`/bin/${name}`, `/bin/${name}`]);
    await copyPrograms(root, Object.fromEntries(programs));
    mkdirSync(path.join(root, 'etc'), { recursive: true });
    // kustomize runs functions as the user of this name.
    writeFileSync(path.join(root, 'etc/passwd'), 'nobody:x:65534:65534:nobody:/:/bin/sh\n');
    this.#root = root;
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
