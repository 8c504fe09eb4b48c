/**
 * Fetches upstream catalogs, executables, and git trees within limits.
 *
 * It does not parse or verify what it fetches. Unless the user has a proxy, it connects only to addresses that
 * `address-guard.ts` allows.
 *
 * @module
 */

import {
  addressServer,
  formatSourceAddress,
  type SourceAddress,
} from '@krmhub/catalog/recipe/source-address';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';
import { actorName } from './actor.js';
import { AddressGuard } from './address-guard.js';
import {
  credentialsFor,
  type FetchedCatalog,
  type FetcherOptions,
  type FetchRequest,
  type SourceContext,
  type SourceCredentials,
} from './context.js';
import { Deadline } from './deadline.js';
import type { Consume, DownloadRequest } from './download-request.js';
import { findFailure, unexpectedFailure } from './failure.js';
import type { ServiceRequest, ServiceResponse } from './http/send-request.js';
import { SOURCE_LIMITS, type SourceLimits } from './limits.js';

/** Key of the address in validators: validators of another address are ignored. */
const ADDRESS = 'address';

/** Fetches upstream catalogs. It does not parse or verify them. */
export class SourceFetcher {
  readonly #options: FetcherOptions;
  readonly #limits: SourceLimits;
  readonly #refused: SourceContext['refused'] = new Map();
  readonly #actors = new Map<string, Promise<string>>();

  /** Throws a RangeError for an invalid allowed address (see `invalidRanges`). */
  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#limits = { ...SOURCE_LIMITS, ...options.limits };
    this.#guard();
  }

  /** Rejects with SourceFailures only. */
  async fetch(request: FetchRequest): Promise<FetchedCatalog> {
    const { address, signal } = request;
    const deadline = new Deadline(displayName(address), this.#limits.totalMilliseconds, signal);
    const maxCatalogBytes = Math.min(
      request.maxBytes ?? Number.POSITIVE_INFINITY,
      this.#limits.maxCatalogBytes,
    );
    const limits = { ...this.#limits, maxCatalogBytes };
    const context = this.#context(limits, deadline);
    const text = formatAddress(request);
    const { [ADDRESS]: known, ...validators } = request.validators ?? {};
    try {
      await start(context, request.namedBy);
      const fetched = await read({ ...request, validators: known === text ? validators : {} }, context);
      deadline.signal.throwIfAborted();
      const actor = await this.#actor(address, context.sent);
      return { ...fetched, validators: { ...fetched.validators, [ADDRESS]: text }, ...defined({ actor }) };
    } catch (error) {
      await this.#reportRefused(address, context);
      throw deadline.failure ?? findFailure(error) ?? unexpectedFailure(error);
    } finally {
      deadline.close();
    }
  }

  /**
   * Streams a file of any size to `consume`. Rejects with SourceFailures, with `digest-mismatch` if a registry sends
   * other content than its manifest names, and with the errors of `consume`.
   */
  async download<Result>(request: DownloadRequest, consume: Consume<Result>): Promise<Result> {
    const { address, signal } = request;
    const deadline = new Deadline(displayName(address), this.#limits.totalMilliseconds, signal);
    const limits = {
      ...this.#limits,
      maxCatalogBytes: Math.min(request.maxBytes, this.#limits.maxCatalogBytes),
    };
    const context = this.#context(limits, deadline);
    try {
      await start(context, request.namedBy);
      const { onManifest } = request;
      const actor = () => this.#actor(address, context.sent);
      const watched: DownloadRequest = {
        ...request,
        onManifest: async (bytes) => onManifest?.(bytes, await actor()),
      };
      const { download } = await import('./download.js');
      return await download(watched, context, async (body) => consume(body, await actor()));
    } catch (error) {
      await this.#reportRefused(address, context);
      if (deadline.failure !== undefined) throw deadline.failure;
      throw findFailure(error) ?? (error instanceof KrmhubError ? error : unexpectedFailure(error));
    } finally {
      deadline.close();
    }
  }

  /** Sends a request to a service. Rejects with SourceFailures only. */
  async send(request: ServiceRequest): Promise<ServiceResponse> {
    const deadline = new Deadline(getHost(request.url), this.#limits.totalMilliseconds, request.signal);
    const context = this.#context(this.#limits, deadline);
    try {
      await start(context, request.namedBy);
      return await (await import('./http/send-request.js')).sendRequest(request, context);
    } catch (error) {
      throw deadline.failure ?? findFailure(error) ?? unexpectedFailure(error);
    } finally {
      deadline.close();
    }
  }

  /**
   * Names who would ask for an address with credentials (`FetchedCatalog.actor`), without a request to it. Undefined if
   * there are no credentials that may be sent.
   */
  async actor(address: SourceAddress): Promise<string | undefined> {
    if (addressServer(address) === undefined) return undefined;
    const deadline = new Deadline(displayName(address), this.#limits.totalMilliseconds);
    const context = this.#context(this.#limits, deadline);
    try {
      return await this.#actor(address, await findCredentials(address, context));
    } catch {
      // A request will say why.
      return undefined;
    } finally {
      deadline.close();
    }
  }

  /**
   * Writes the regular files of a commit below `folder`, whose contents are replaced, and its links that stay inside
   * it. Submodules are left out, and no hook or filter runs. Returns the commit. Rejects with SourceFailures only.
   */
  async fetchTree(request: TreeRequest): Promise<string> {
    const { address, signal } = request;
    const deadline = new Deadline(displayName(address), this.#limits.totalMilliseconds, signal);
    const context = this.#context(this.#limits, deadline);
    try {
      await start(context, request.namedBy);
      return await (await import('./git/git-tree.js')).fetchGitTree(request, context);
    } catch (error) {
      throw deadline.failure ?? findFailure(error) ?? unexpectedFailure(error);
    } finally {
      deadline.close();
    }
  }

  async #actor(
    address: SourceAddress,
    credentials: SourceCredentials | undefined,
  ): Promise<string | undefined> {
    const server = addressServer(address);
    if (server === undefined || credentials === undefined) return undefined;
    const key = JSON.stringify([server, credentials]);
    const named = this.#actors.get(key) ?? actorName(server, credentials);
    this.#actors.set(key, named);
    return named;
  }

  async #reportRefused(address: SourceAddress, { options, invalid }: SourceContext): Promise<void> {
    const actor = options.onRefused === undefined ? undefined : await this.#actor(address, invalid);
    if (actor !== undefined) await options.onRefused?.(address, actor);
  }

  #context(limits: SourceLimits, deadline: Deadline): SourceContext {
    return { options: this.#options, limits, guard: this.#guard(), deadline, refused: this.#refused };
  }

  /** One for each fetch: it may remember where the fetch started. */
  #guard(): AddressGuard {
    return new AddressGuard(this.#options.allowedAddresses, this.#options.resolve);
  }
}

/** A commit whose files are fetched to disk. */
export interface TreeRequest {
  address: Extract<SourceAddress, { type: 'git' }>;
  folder: string;
  /** As in a `FetchRequest`. */
  namedBy?: string;
  signal?: AbortSignal;
}

/** Tells the guard where a fetch starts, if a document names its address. */
async function start(
  { options, guard, deadline }: SourceContext,
  namedBy: string | undefined,
): Promise<void> {
  deadline.signal.throwIfAborted();
  const url = namedBy === undefined ? undefined : parseUrl(namedBy);
  if (url === undefined) return;
  const proxy = await options.proxy?.(url);
  await deadline.race(guard.startAt(url.hostname, { isProxied: proxy !== undefined }));
}

/** The credentials that a server gets which asks for some. */
async function findCredentials(
  address: SourceAddress,
  context: SourceContext,
): Promise<SourceCredentials | undefined> {
  if (address.type === 'oci') return (await import('./oci-source.js')).registryCredentials(address, context);
  if (address.type !== 'http') return undefined;
  const { origin } = new URL(address.url);
  return (
    (await credentialsFor(origin, { type: 'http' }, context)) ??
    (await credentialsFor(origin, { type: 'http', refused: 401 }, context))
  );
}

/** Loads only the modules for the type of source. */
async function read(request: FetchRequest, context: SourceContext): Promise<FetchedCatalog> {
  const { address } = request;
  switch (address.type) {
    case 'http':
      return (await import('./http/http-source.js')).fetchHttp(address, request, context);
    case 'git':
      return (await import('./git/git-source.js')).fetchGit(address, request, context);
    case 'oci':
      return (await import('./oci-source.js')).fetchOci(address, request, context);
    case 'file':
      return (await import('./file-source.js')).fetchFile(address, request, context);
  }
}

function displayName(address: SourceAddress): string {
  switch (address.type) {
    case 'http':
      return getHost(address.url);
    case 'git':
      return getHost(address.repository);
    case 'oci':
      return address.reference.split('/')[0]!;
    case 'file':
      return address.path;
  }
}

function getHost(url: string): string {
  return parseUrl(url)?.host ?? printable(url);
}

/** Identifies what is fetched: of one address, a folder may be read in several ways. */
function formatAddress({ address, folder }: FetchRequest): string {
  return folder === undefined
    ? formatSourceAddress(address)
    : `${folder.releases} ${formatSourceAddress(address)}`;
}
