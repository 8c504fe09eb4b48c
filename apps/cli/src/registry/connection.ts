import type { Agent } from 'node:http';
import { isIPv4 } from 'node:net';
import type { RegistryClient, RegistryClientOptions } from '@krmhub/api/client';
import type { ExportClient } from '@krmhub/api/export-client';
import type { Io } from '../io/io.js';
import { VERSION } from '../io/version.js';

export const DEFAULT_REGISTRY = 'http://localhost:8080';

/** The registry that a command is about: `--registry`, else KRMHUB_REGISTRY, else this machine's. */
export function registryUrl(io: Pick<Io, 'env'>, option: string | undefined): string {
  const configured = io.env.KRMHUB_REGISTRY;
  return option ?? (configured === undefined || configured === '' ? DEFAULT_REGISTRY : configured);
}

/** A client with the token that KRMHUB_TOKEN or `login` has for the registry, and without one where there is none. */
export async function connect(
  io: Io,
  option: string | undefined,
  give: { token?: string } = {},
): Promise<RegistryClient> {
  const { RegistryClient } = await import('@krmhub/api/client');
  return new RegistryClient(await connection(io, option, give));
}

/** The same for what is larger than an answer in memory. */
export async function connectExport(io: Io, option: string | undefined): Promise<ExportClient> {
  const { ExportClient } = await import('@krmhub/api/export-client');
  return new ExportClient(await connection(io, option));
}

async function connection(
  io: Io,
  option: string | undefined,
  give: { token?: string } = {},
): Promise<RegistryClientOptions> {
  const { parseRegistryUrl } = await import('@krmhub/api/client');
  const url = parseRegistryUrl(registryUrl(io, option));
  const token = give.token ?? (await tokenFor(io, url));
  if (token !== undefined && url.protocol === 'http:' && !isLoopback(url.hostname)) {
    const { printWarning: warn } = await import('../io/print.js');
    await warn(
      io,
      `the token is sent to ${url.origin} without encryption; use https where others can listen`,
    );
  }
  const agent = await agentFor(io, url);
  return {
    url: url.href,
    userAgent: `krmhub/${VERSION}`,
    onRateLimited: async (seconds) =>
      (await import('./wait-for-rate-limit.js')).waitForRateLimit(io, url, seconds),
    ...(token === undefined ? {} : { token }),
    ...(agent === undefined ? {} : { agent }),
  };
}

/** Only who has a proxy loads what it takes. This machine itself is never reached through one. */
export async function agentFor(io: Pick<Io, 'env'>, url: URL): Promise<Agent | undefined> {
  const proxied = Object.keys(io.env).some((name) => /^(https?|all)_proxy$/i.test(name));
  if (!proxied || isLoopback(url.hostname)) return undefined;
  return (await import('./proxy-agent.js')).proxyAgent(url);
}

/** The token that KRMHUB_TOKEN or `login` has for a registry. */
export async function tokenFor(io: Pick<Io, 'env'>, url: URL): Promise<string | undefined> {
  const { checkToken, savedToken } = await import('./credentials.js');
  const given = io.env.KRMHUB_TOKEN;
  return given === undefined || given === '' ? savedToken(io, url) : checkToken(given);
}

export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    (isIPv4(hostname) && hostname.startsWith('127.')) ||
    hostname === '[::1]'
  );
}
