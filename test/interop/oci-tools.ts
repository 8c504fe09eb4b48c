import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { spawn, spawnSync } from '../processes.js';
import { cleanEnvironment, type Finished, krmhub, type RunningRegistry } from '../running.js';
import { isInstalled } from './container-engine.js';

/** Shared by the tests of other projects' clients: the installed programs, and their users. */

/** Why a client cannot be tested, as text for a title; undefined if it can. */
export type Reason = string | undefined;

export const missingReason = (program: string): Reason =>
  isInstalled(program) ? undefined : `${program} is not installed`;

/** Returns a title with the reason if the test is skipped. */
export const titleWithReason = (title: string, reason: Reason): string =>
  reason === undefined ? title : `${title} (skipped: ${reason})`;

/** A Python with the oras library; CI makes one and sets its path. */
export const orasPython = process.env.KRMHUB_TEST_ORAS_PYTHON ?? 'python3';

export function whyNoOrasPython(): Reason {
  return spawnSync(orasPython, ['-c', 'import oras.client']).status === 0
    ? undefined
    : 'the oras library for Python is not installed';
}

/** A user of clients, with a new home without configuration and logins. */
export class User {
  readonly home: string;
  readonly env: Record<string, string>;

  constructor(folder: string) {
    this.home = mkdtempSync(path.join(folder, 'user-'));
    mkdirSync(this.at('.docker'));
    // Podman fails if a configured file does not exist.
    this.write('.docker/config.json', '{}');
    this.env = {
      HOME: this.home,
      DOCKER_CONFIG: this.at('.docker'),
      // Tools of the containers project look in other folders first.
      REGISTRY_AUTH_FILE: this.at('.docker/config.json'),
      REGCTL_CONFIG: this.at('regctl.json'),
    };
  }

  at(name: string): string {
    return path.join(this.home, name);
  }

  write(name: string, bytes: string | Uint8Array): string {
    writeFileSync(this.at(name), bytes);
    return name;
  }

  /** Stores credentials where `docker login` does, without a request to the registry. */
  storeCredentials(host: string, password: string, username = 'anybody'): this {
    const auth = Buffer.from(`${username}:${password}`).toString('base64');
    this.write('.docker/config.json', JSON.stringify({ auths: { [host]: { auth } } }));
    return this;
  }

  async run(program: string, args: readonly string[], stdin = ''): Promise<Finished> {
    const child = spawn(program, args, {
      cwd: this.home,
      env: cleanEnvironment(this.home, this.env),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
      });
    }
    child.stdin.on('error', () => undefined).end(stdin);
    const [code] = await once(child, 'close');
    return { code, ...output };
  }

  /** Returns the output of a program that must succeed. */
  async mustSucceed(program: string, ...args: string[]): Promise<string> {
    const finished = await this.run(program, args);
    expect(finished.code, `${program} ${args.join(' ')}\n${finished.stderr}`).toBe(0);
    return finished.stdout.trim();
  }

  /** Returns the output of a program that must fail, as its user sees it. */
  async isRefused(program: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(program, args);
    expect(code, `${program} ${args.join(' ')}\n${stdout}`).not.toBe(0);
    return stdout + stderr;
  }

  async krmhub(...args: string[]): Promise<Finished> {
    return krmhub(args, { cwd: this.home, env: this.env });
  }

  /** Returns the JSON output of our command. */
  async krmhubMustSucceed(...args: string[]): Promise<Record<string, unknown>> {
    const finished = await this.krmhub(...args, '-o', 'json');
    expect(finished.code, `krmhub ${args.join(' ')}\n${finished.stderr}`).toBe(0);
    return JSON.parse(finished.stdout);
  }

  regctl(...args: string[]): Promise<string> {
    return this.mustSucceed('regctl', '--verbosity', 'error', ...args);
  }

  /** regctl speaks TLS unless it is configured otherwise. */
  async regctlKnows(...hosts: string[]): Promise<this> {
    for (const host of hosts) await this.regctl('registry', 'set', host, '--tls', 'disabled', '--skip-check');
    return this;
  }
}

/** Host and port, as in references. */
export const registryHost = ({ url }: RunningRegistry): string => new URL(url).host;

/** A token that an administrator creates. */
export async function newToken(
  { env }: RunningRegistry,
  name: string,
  ...options: string[]
): Promise<string> {
  const { code, stdout, stderr } = await krmhub(['token', 'create', name, ...options], { env });
  expect(code, stderr).toBe(0);
  return stdout.trim();
}

export const definitionType = 'application/vnd.cncf.kubernetes.krm-func-definition.v1';
export const definitionLayer = 'application/vnd.cncf.kubernetes.krm-func-definition.layer.v1+yaml';

/** The Accept header of a client that accepts any manifest. */
const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/** Reads a manifest without a client: its digest and content, or the status of the response. */
export async function manifestAt(
  base: string,
  repository: string,
  reference: string,
): Promise<{ status: number; digest: string | null; manifest: Record<string, unknown> }> {
  const answer = await fetch(`${base}/v2/${repository}/manifests/${reference}`, {
    headers: { Accept: MANIFESTS },
  });
  return {
    status: answer.status,
    digest: answer.headers.get('docker-content-digest'),
    manifest: (await answer.json()) as Record<string, unknown>,
  };
}
