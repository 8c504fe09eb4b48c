import { isIPv4 } from 'node:net';
import type { Environment } from '@krmhub/consume/ports';

/**
 * Reports whether credentials may go to a host (and port) without TLS: this machine, and the hosts in `plainHttp` and
 * KRMHUB_PLAIN_HTTP.
 */
export function allowsPlainHttp(
  { env }: Environment,
  host: string,
  plainHttp: readonly string[] = [],
): boolean {
  const name = host.replace(/:\d+$/, '');
  const hosts = [...plainHttp, ...plainHttpHosts({ env })];
  return isLoopback(name) || hosts.includes(host) || hosts.includes(name);
}

/** Returns the hosts in KRMHUB_PLAIN_HTTP. */
export function plainHttpHosts({ env }: Environment): string[] {
  return (env.KRMHUB_PLAIN_HTTP ?? '').split(',').flatMap((host) => host.trim() || []);
}

export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    (isIPv4(hostname) && hostname.startsWith('127.')) ||
    hostname === '[::1]'
  );
}
