/**
 * Connects to registries with the credentials and the proxy of the user, and manages tokens.
 *
 * Without TLS, credentials go only to this machine and to hosts that the user allows.
 *
 * @module
 */

import type { Agent } from 'node:http';
import type { RegistryClient, RegistryClientOptions } from '@krmhub/api/client';
import type { ExportClient } from '@krmhub/api/export-client';
import type { Environment } from '@krmhub/consume/ports';
import { registryUrl } from '@krmhub/consume/references/registry-url';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';
import { VERSION } from '../io/version.js';
import { isLoopback } from './plain-http.js';

interface Overrides {
  token?: string;
  /** For one request, without waits for a rate limit. */
  timeoutMilliseconds?: number;
}

/** Returns a client that sends the token of KRMHUB_TOKEN or `login` where a request needs it, or shows more with it. */
export async function connect(
  io: Io,
  option: string | undefined,
  overrides: Overrides = {},
): Promise<RegistryClient> {
  const { RegistryClient } = await import('@krmhub/api/client');
  return new RegistryClient(await connection(io, option, overrides));
}

/** Returns a client for exports, which are streamed. */
export async function connectExport(io: Io, option: string | undefined): Promise<ExportClient> {
  const { ExportClient } = await import('@krmhub/api/export-client');
  return new ExportClient(await connection(io, option));
}

/** Returns a client that sends no token, asks nothing, and does not wait for long. */
export async function connectAnonymously(
  io: Io,
  option: string | undefined,
  timeoutMilliseconds: number,
): Promise<RegistryClient> {
  const { RegistryClient } = await import('@krmhub/api/client');
  const { token: _token, onRateLimited: _wait, ...options } = await connection(io, option);
  return new RegistryClient({ ...options, timeoutMilliseconds });
}

async function connection(
  io: Io,
  option: string | undefined,
  { token, timeoutMilliseconds }: Overrides = {},
): Promise<RegistryClientOptions> {
  const { parseRegistryUrl } = await import('@krmhub/api/client');
  const url = parseRegistryUrl(registryUrl(io, option));
  const agent = await proxyAgentFor(io, url);
  return {
    url: url.href,
    userAgent: `krmhub/${VERSION}`,
    onRateLimited: async (seconds) =>
      timeoutMilliseconds === undefined &&
      (await import('./wait-for-rate-limit.js')).waitForRateLimit(io, url, seconds),
    onUselessToken: async (reason, isTemporary) => {
      const { printWarning } = await import('../io/print.js');
      const { escapeControls } = await import('@krmhub/schema/text');
      const wayOut = isTemporary ? 'try again in a minute' : 'sign in again: krmhub login';
      await printWarning(io, `${escapeControls(reason)}: only what is public was read; ${wayOut}`);
    },
    onRefused: async (refusal) => (await import('./forget-refused.js')).forgetRefused(io, url, refusal),
    token: async (isRequired) => {
      const { findToken, requiredToken } = await import('./find-credentials.js');
      return isRequired ? requiredToken(io, url, token) : (token ?? findToken(io, url));
    },
    ...defined({ timeoutMilliseconds, agent }),
    ...defined({ timeoutMilliseconds: io.requestTimeout }),
  };
}

/** Returns the proxy agent for a URL. */
export async function proxyAgentFor(io: Environment, url: URL): Promise<Agent | undefined> {
  return (await proxyFor(io, url))?.agent;
}

/** Returns the proxy for a URL. Loads its library only if a proxy is configured. Local URLs use no proxy. */
export async function proxyFor(
  io: Environment,
  url: URL,
): Promise<{ url: string; agent: Agent } | undefined> {
  const proxied = Object.keys(io.env).some((name) => /^(https?|all)_proxy$/i.test(name));
  if (!proxied || isLoopback(url.hostname)) return undefined;
  return (await import('./proxy-agent.js')).configuredProxy(url);
}
