import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readSourceAddress } from '@krmhub/catalog';
import type { FetcherOptions, FetchRequest } from '../context.js';
import type { SourceFetcher } from '../fetcher.js';
import { gitServer, temporaryFolder, testFetcher } from './servers.js';

export const CATALOG = 'kind: KRMFunctionCatalog\n';

/** A working copy, what is published of it, and a server of that. */
export class TestRepositories {
  readonly folder: string;
  /** Below it are the repositories that are served. */
  readonly root: string;
  readonly work: string;
  /** Nothing else is in it, so that what a fetcher leaves behind shows. */
  readonly scratch: string;
  /** Answers instead of git, where a test sets it. */
  instead: Parameters<typeof gitServer>[1];
  server!: Awaited<ReturnType<typeof gitServer>>;
  readonly #remove: () => void;

  constructor() {
    const { folder, remove } = temporaryFolder();
    this.folder = folder;
    this.#remove = remove;
    this.root = path.join(folder, 'repositories');
    this.work = path.join(this.root, 'work');
    this.scratch = path.join(folder, 'scratch');
    mkdirSync(this.scratch);
  }

  async start(format: 'sha1' | 'sha256' = 'sha1'): Promise<void> {
    mkdirSync(path.join(this.work, 'team'), { recursive: true });
    this.git('init', '--quiet', '--initial-branch=main', `--object-format=${format}`);
    this.git('config', 'user.name', 'test');
    this.git('config', 'user.email', 'test@example.com');
    this.write('team/catalog.yaml', CATALOG);
    this.commit('one');
    this.publish();
    this.server = await gitServer(
      this.root,
      (request, response) => this.instead?.(request, response) ?? false,
    );
  }

  async stop(): Promise<void> {
    await this.server.close();
    this.#remove();
  }

  get host(): string {
    return `127.0.0.1:${this.server.port}`;
  }

  git(...args: string[]): string {
    return execFileSync('git', args, {
      cwd: this.work,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  }

  write(file: string, content: string | Buffer): void {
    writeFileSync(path.join(this.work, file), content);
  }

  commit(message: string): void {
    this.git('add', '.');
    this.git('commit', '--quiet', '-m', message);
  }

  /** What is served, by a server that can leave out files as forges do. */
  publish(name = 'functions.git', filters = true): void {
    const bare = path.join(this.root, name);
    this.git('clone', '--quiet', '--bare', '.', bare);
    this.git('-C', bare, 'config', 'uploadpack.allowFilter', String(filters));
  }

  /** The address of a file in what was published. */
  at(pathAndRef: string, repository = 'functions.git'): string {
    return `${this.server.origin}/${repository}//${pathAndRef}`;
  }

  fetcher(options: Partial<FetcherOptions> = {}): SourceFetcher {
    return testFetcher(this.scratch, options);
  }

  /** Processes whose home is a repository of a fetcher, by their ids. */
  running(): string[] {
    return readdirSync('/proc').filter(
      (name) => /^\d+$/.test(name) && read(`/proc/${name}/environ`).includes(`HOME=${this.scratch}`),
    );
  }

  /** What fetchers have not cleared away: processes and folders. */
  left(): string[] {
    return [...this.running(), ...readdirSync(this.scratch)];
  }
}

export function asking(target: string, more: Partial<FetchRequest> = {}): FetchRequest {
  const address = readSourceAddress(`git::${target}`);
  if (!address.ok) throw new Error(address.reason);
  return { address: address.address, bundles: false, ...more };
}

export function text(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString();
}

/** Of a process that may have ended: nothing. */
export function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
