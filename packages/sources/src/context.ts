import type { Agent } from 'node:http';
import type { SourceAddress } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { AddressGuard, AllowedAddresses, Resolve } from './address-guard.js';
import type { Deadline } from './deadline.js';
import { SourceFailure } from './failure.js';
import type { SourceLimits } from './limits.js';

/** Credentials for an origin: basic authentication, or a bearer token. For OCI the token is an identity token. */
export type SourceCredentials = ({ username: string; password: string } | { token: string }) & {
  /** For OCI: origins of token services on other hosts that may get the credentials too. */
  tokenServices?: readonly string[];
};

/** What the credentials are for. */
export interface CredentialUse {
  type: Exclude<SourceAddress['type'], 'file'>;
  /** Status of the response to a request without credentials; absent before the first request. */
  refused?: number;
}

export interface FetchRequest {
  address: SourceAddress;
  /** URL of the document that names the address: a public one does not lead to a private one (`as-named`). */
  namedBy?: string;
  /** Validators of the last response. They are ignored if they belong to another address. */
  validators?: Record<string, string>;
  /** Whether to fetch signature bundles. A folder has none. */
  bundles: boolean;
  /** Size limit, if it is below that of a catalog. */
  maxBytes?: number;
  /** Allows a folder: its YAML and JSON files become one document (`writeSourceFiles`). */
  folder?: FolderRequest;
  signal?: AbortSignal;
  /** Called with the number of received bytes of the catalog. */
  onProgress?(bytes: number): void;
}

export interface FolderRequest {
  /** `tags`: of a git repository, the files at the newest release tags, instead of those at the ref. */
  releases: 'folders' | 'tags';
  /** Folders below the address. Absent for all of it. */
  paths?: readonly string[];
  /** The names of the files to read, if any file has such a name; otherwise all YAML and JSON files. */
  names?: RegExp;
}

export interface FetchedCatalog {
  /** Absent if the catalog is unchanged since the validators. */
  bytes?: Uint8Array;
  /** For a later conditional request. */
  validators: Record<string, string>;
  /** Current bundles, also if the catalog is unchanged. They are not verified. */
  bundles: Uint8Array[];
  /** Digest of the OCI manifest, which may be signed instead of the bytes. */
  manifest?: string;
  /** Who asked (`actorName`), if a response was for credentials. */
  actor?: string;
}

export interface FetcherOptions {
  userAgent: string;
  limits?: Partial<SourceLimits>;
  /** Allowed CIDR ranges and addresses besides public ones; `as-named` for the command line of a user. */
  allowedAddresses: AllowedAddresses;
  /**
   * Returns the credentials for an origin, for example `https://host`. They are not sent to redirect targets. Of HTTP,
   * it is called before the first request, and again if that had none and the server refused it.
   */
  credentials?(origin: string, use: CredentialUse): Promise<SourceCredentials | undefined>;
  /** Called if a server refuses the credentials themselves, whatever they were sent for. `actor` is whose they are. */
  onRefused?(address: SourceAddress, actor: string): Promise<void>;
  /** Folder for `file:` sources. Without it they are rejected. */
  fileFolder?: string;
  /** Protocols that git may use. */
  protocols: readonly ('https' | 'http' | 'ssh' | 'file')[];
  /** Folder for temporary git repositories. It is created if it is missing. */
  temporaryFolder: string;
  /** OCI registries without TLS: hosts with or without a port. Loopback addresses never use TLS. */
  plainHttpRegistries?: readonly string[];
  /** PATH for `git`, `sh` and `ssh`. */
  programFolders?: string;
  /**
   * The environment of the user whose git configuration, credential helpers, and certificate authorities git uses.
   * Without it, git has a closed environment.
   */
  userEnvironment?: Readonly<Record<string, string>>;
  /** Socket of the ssh agent. */
  sshAgentSocket?: string;
  /** Default: the DNS lookup of the system. */
  resolve?: Resolve;
  /** Returns the proxy for a URL; undefined for a direct connection. Default: none. */
  proxy?(url: URL): Promise<Proxy | undefined>;
}

/** A proxy of the user. It looks up the names of hosts itself, and decides which of them can be reached. */
export interface Proxy {
  /** With its credentials. */
  url: string;
  agent: Agent;
}

/** The context of one fetch, for every type of source. */
export interface SourceContext {
  options: FetcherOptions;
  limits: SourceLimits;
  guard: AddressGuard;
  deadline: Deadline;
  /** What the fetcher sends to URLs that refused a request without credentials. */
  refused: Map<string, SourceCredentials>;
  /** The credentials of this fetch with which a server responded. */
  sent?: SourceCredentials;
  /** The credentials of this fetch that a server refused themselves. */
  invalid?: SourceCredentials;
}

/** Rejects with SourceFailures only. */
export async function credentialsFor(
  origin: string,
  use: CredentialUse,
  { deadline, options }: SourceContext,
): Promise<SourceCredentials | undefined> {
  try {
    return await deadline.race(options.credentials?.(origin, use) ?? Promise.resolve(undefined));
  } catch (error) {
    if (error instanceof SourceFailure || !(error instanceof KrmhubError)) throw error;
    throw new SourceFailure('unauthorized', error.message, {
      cause: error,
      ...defined({ hint: error.hint }),
    });
  }
}
