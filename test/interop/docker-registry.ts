import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn, spawnSync } from '../processes.js';
import { freePort } from './free-port.js';

/**
 * The registry of the distribution project as in Debian (2.8): it does not support referrers, and many
 * deployments are of its age.
 */
export const hasDockerRegistry = spawnSync('docker-registry', ['--version']).status === 0;

export interface DockerRegistry {
  /** Host and port. */
  host: string;
  stop(): Promise<void>;
}

/** `user` and `password`, as `htpasswd -B` writes them. */
const HTPASSWD = 'user:$2y$05$uH.WgFKeQ/H8RU6NRJrjUuFyAdfi2hp2M/RRJqk6gOO1WWJ1YM6MS\n';

export async function startDockerRegistry(
  folder: string,
  options: { login?: boolean } = {},
): Promise<DockerRegistry> {
  mkdirSync(folder, { recursive: true });
  const host = `127.0.0.1:${await freePort()}`;
  const users = path.join(folder, 'htpasswd');
  writeFileSync(users, HTPASSWD);
  const configuration = path.join(folder, 'config.json');
  // JSON is also YAML.
  const settings = {
    version: 0.1,
    log: { level: 'error', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: path.join(folder, 'data') }, delete: { enabled: true } },
    http: { addr: host },
    ...(options.login === true ? { auth: { htpasswd: { realm: 'test', path: users } } } : {}),
  };
  writeFileSync(configuration, JSON.stringify(settings));
  const child = spawn('docker-registry', ['serve', configuration], { stdio: 'ignore' });
  const exited = once(child, 'close');
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`http://${host}/v2/`).catch(() => undefined);
    if (answer !== undefined) break;
    if (tries > 200 || child.exitCode !== null) throw new Error('docker-registry does not start');
    await sleep(50);
  }
  return {
    host,
    stop: async () => {
      child.kill();
      await exited;
    },
  };
}
