/**
 * Resolves the functionConfigs of a package through catalogs, with the trust and the lock of its user.
 *
 * A program that embeds it passes the environment, the files, the network, the clock, and what to do with warnings:
 * nothing here uses the process, a terminal, or a setting that the program did not give.
 *
 * @module
 */

import type { RegistryClient } from '@krmhub/api/client';
import type { OciClient } from '@krmhub/oci';
import type { SourceFetcher, SourceLimits } from '@krmhub/sources';

/** What a user asks of a snapshot besides its signature, for a machine that has verified no snapshot before. */
export interface SnapshotLimits {
  minSerial?: number;
  /** In seconds. */
  maxAge?: number;
}

/** The environment variables, and what the user configured once for all runs. */
export interface Environment {
  env: Record<string, string | undefined>;
  /** Returns the URL of the registry that the user chose, if no variable names one. */
  defaultRegistry?(): string | undefined;
}

/** The folder that relative paths start from. */
export interface WorkingFolder {
  cwd: string;
}

/** What every catalog that is read must satisfy, besides the trust file. */
export interface SnapshotRules {
  snapshotLimits?: SnapshotLimits;
}

/** What is told of the work. */
export interface Trace {
  /** A text never has a secret. */
  trace?(text: string): void;
}

/** The current time. */
export interface Clock {
  now(): Date;
}

/** What a user should read, one line each, without control characters. */
export interface Warnings {
  /** Something that may be wrong. */
  warn(text: string): Promise<void>;
  /** What was done or verified. */
  report(text: string): Promise<void>;
}

/** Opens connections, each of which has the credentials, the proxy, and the timeouts of the program. */
export interface Fetch {
  /** Fetches catalogs, repositories, and files. `temporaryFolder` need not exist. */
  openSources(options: { temporaryFolder: string; limits?: Partial<SourceLimits> }): Promise<SourceFetcher>;
  /** Reads from OCI registries; with `anonymous`, without credentials. */
  openOci(options?: { signal?: AbortSignal; anonymous?: boolean }): Promise<OciClient>;
  /** Asks a krmhub registry, by its URL. Waits at most so long for one response. */
  connect(
    registry: string,
    options: { timeoutMilliseconds: number; anonymous?: boolean },
  ): Promise<RegistryClient>;
}

/** The network. */
export interface Network {
  fetch: Fetch;
}

/** What of the program is part of what it caches: another version does not use what this one read of an entry. */
export interface Program {
  version: string;
}

/** What verifying the signature of a snapshot needs. */
export interface TrustPorts extends Environment, WorkingFolder, SnapshotRules, Clock, Warnings {}

/** The ports: environment, files, network, clock, and warnings. */
export interface Ports extends TrustPorts, Network, Program, Trace {}
