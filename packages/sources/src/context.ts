import type { SourceAddress } from '@krmhub/catalog';
import type { AddressGuard, Resolve } from './address-guard.js';
import type { Deadline } from './deadline.js';
import type { SourceLimits } from './limits.js';

/** What is kept for an origin: a name and a password, or a bearer token. For OCI a token is an identity token. */
export type SourceCredentials = { username: string; password: string } | { token: string };

export interface FetchRequest {
  address: SourceAddress;
  /** Of the last answer for this address; those of another address are left alone. */
  validators?: Record<string, string>;
  /** Look for signatures beside it. */
  bundles: boolean;
  signal?: AbortSignal;
  /** Bytes of the catalog that have come. */
  onProgress?(bytes: number): void;
}

export interface FetchedCatalog {
  /** Absent: nothing changed since the validators. */
  bytes?: Uint8Array;
  /** What a later request is made conditional by. */
  validators: Record<string, string>;
  /** Those that stand beside it now, whether or not the catalog changed; nothing was checked. */
  bundles: Uint8Array[];
  /** Digest of an OCI manifest, of which a signature may speak instead of the bytes. */
  manifest?: string;
}

export interface FetcherOptions {
  userAgent: string;
  limits?: Partial<SourceLimits>;
  /** CIDR ranges and addresses beside the public ones that may be connected to; `all` for a user's own machine. */
  allowedAddresses: readonly string[] | 'all';
  /** By origin, such as `https://host`. They are sent there and nowhere else, whatever it redirects to. */
  credentials?(origin: string): Promise<SourceCredentials | undefined>;
  /** `file:` sources are read below this folder; refused where it is absent. */
  fileFolder?: string;
  /** By which git may fetch. */
  protocols: readonly ('https' | 'http' | 'ssh')[];
  /** Where a repository stands while it is read; it is made where it is missing. */
  temporaryFolder: string;
  /** Hosts, with or without a port, of OCI registries that are spoken to without TLS; this machine always is. */
  plainHttpRegistries?: readonly string[];
  /** Folders in which `git`, `sh` and `ssh` are, as in PATH. */
  programFolders?: string;
  /** The socket of the agent that has the keys for ssh. */
  sshAgentSocket?: string;
  /** The system's way by default. */
  resolve?: Resolve;
}

/** What every kind of source has at hand for one fetch. */
export interface SourceContext {
  options: FetcherOptions;
  limits: SourceLimits;
  guard: AddressGuard;
  deadline: Deadline;
}

export async function credentialsFor(
  origin: string,
  { credentials }: FetcherOptions,
): Promise<SourceCredentials | undefined> {
  return credentials?.(origin);
}
