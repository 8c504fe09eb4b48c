import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import type { Log } from '../log.js';

/** Address of a request without a socket, which only tests make. */
const NO_ADDRESS = 'unknown';

/** Networks in which an operator's proxies are: RFC 1918, RFC 4193 and this machine. */
const PRIVATE_NETWORKS = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '127.0.0.0/8', 'fc00::/7', '::1'];

export interface TrustedProxySettings {
  /** Addresses and CIDR ranges; absent for none. */
  trustedProxies?: readonly string[];
}

export interface InternalAddressSettings extends TrustedProxySettings {
  /** Addresses and CIDR ranges whose clients see what is internal; absent for none. */
  internalAddresses?: readonly string[];
  publicUrl?: string;
}

/** Matches the proxies whose X-Forwarded-For is trusted. */
export interface TrustedProxies {
  includes(address: string): boolean;
}

/** Parses addresses and CIDR ranges; `problems` lists the invalid entries. */
export function readTrustedProxies(entries: readonly string[]): {
  proxies: TrustedProxies;
  problems: string[];
} {
  const list = new BlockList();
  const problems: string[] = [];
  for (const entry of entries) {
    const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const family = addressFamily(address);
    const most = family === 'ipv4' ? 32 : 128;
    if (family === undefined || Number(bits ?? 0) > most) problems.push(entry);
    else list.addSubnet(address, bits === undefined ? most : Number(bits), family);
  }
  const includes = (address: string) => {
    if (entries.length === 0) return false;
    const family = addressFamily(address);
    return family !== undefined && list.check(address, family);
  };
  return { proxies: { includes }, problems };
}

/**
 * Returns the address of the client: the address of the connection or, behind trusted proxies, the rightmost address
 * of X-Forwarded-For that is not a trusted proxy. The client itself wrote the entries to the left of it. `Forwarded`
 * (RFC 7239) is not read: a proxy that does not know it passes through the text of the client.
 */
export function clientAddress(request: IncomingMessage | undefined, trusted: TrustedProxies): string {
  let address = plainAddress(request?.socket.remoteAddress ?? NO_ADDRESS);
  if (!trusted.includes(address)) return address;
  const forwarded = request?.headers['x-forwarded-for'] ?? '';
  const hops = (typeof forwarded === 'string' ? forwarded : forwarded.join(',')).split(',');
  for (const hop of hops.reverse()) {
    const before = plainAddress(withoutPort(hop.trim()));
    if (isIP(before) === 0) return address;
    address = before;
    if (!trusted.includes(address)) return address;
  }
  return address;
}

/**
 * Wraps `clientAddress`. Warns once if a nearby proxy seems to be missing from the trusted ones, because its clients
 * share its limits.
 */
export function clientAddresses(
  trusted: TrustedProxies,
  log: Log,
): (request: IncomingMessage | undefined) => string {
  const privateNetworks = readTrustedProxies(PRIVATE_NETWORKS).proxies;
  let warned = false;
  return (request) => {
    const client = clientAddress(request, trusted);
    if (!warned && request?.headers['x-forwarded-for'] !== undefined) {
      const peer = plainAddress(request.socket.remoteAddress ?? NO_ADDRESS);
      if (privateNetworks.includes(peer) && !trusted.includes(peer)) {
        warned = true;
        log.warn(
          { proxy: peer },
          'ignored X-Forwarded-For from an untrusted address: if it is a proxy, add it to KRMHUB_TRUSTED_PROXIES',
        );
      }
    }
    return client;
  };
}

/**
 * Returns whether a request comes from an internal address. A proxy is not a client: a request that one forwards comes from
 * the client that it names, and if the proxy is not trusted, from outside. `Host` must be a name that no stranger can have,
 * else a page of a stranger whose name leads to this registry (DNS rebinding) could read it with a browser inside.
 */
export function insideAddresses({
  internalAddresses = [],
  trustedProxies = [],
  publicUrl,
}: InternalAddressSettings): (request: IncomingMessage | undefined) => boolean {
  if (internalAddresses.length === 0) return () => false;
  const internal = readTrustedProxies(internalAddresses).proxies;
  const trusted = readTrustedProxies(trustedProxies).proxies;
  const ownName = publicUrl === undefined ? undefined : hostName(new URL(publicUrl).host);
  return (request) => {
    const peer = plainAddress(request?.socket.remoteAddress ?? NO_ADDRESS);
    const isForwarded = FORWARDING_FIELDS.some((name) => request?.headers[name] !== undefined);
    if (isForwarded && !trusted.includes(peer)) return false;
    const client = clientAddress(request, trusted);
    if (!internal.includes(client) || trusted.includes(client)) return false;
    const name = hostName(request?.headers.host ?? '');
    // A proxy may replace the name that the client used by one of these.
    return name === ownName || (!trusted.includes(peer) && isLocalName(name));
  };
}

/** Returns the name or address of a `Host` field, without its port. */
function hostName(host: string): string {
  return host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

/** Whether nobody can register the name: an address, a name without dots, or one below a name for local networks. */
function isLocalName(name: string): boolean {
  return isIP(name) !== 0 || /^(?:[a-z0-9_-]+|.+\.(?:localhost|local|internal|home\.arpa))$/.test(name);
}

/** Header fields that proxies add. */
const FORWARDING_FIELDS = [
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'forwarded', 'via'],
  ...['x-client-ip', 'x-cluster-client-ip', 'true-client-ip', 'cf-connecting-ip'],
];

/** Returns the key under which an address counts: one subscriber has a whole /64 of IPv6 addresses. */
export function rateLimitKey(address: string): string {
  return isIPv6(address) ? networkPrefix(address, 4) : address;
}

/**
 * Returns the /48 of an IPv6 address: some subscribers have one, with 65,536 networks. Undefined for other addresses.
 */
export function siteKey(address: string): string | undefined {
  return isIPv6(address) ? networkPrefix(address, 3) : undefined;
}

/** Returns how the keys of all networks in the site of an IPv6 address begin. Undefined for other addresses. */
export function siteNetworks(address: string): string | undefined {
  return siteKey(address)?.replace(/:\/48$/, '');
}

/** Returns the network of an address, in which a client can often choose another one: a /24 of IPv4, a /48 of IPv6. */
export function clientNetwork(address: string): string {
  return siteKey(address) ?? (isIPv4(address) ? address.replace(/\d+$/, '0/24') : address);
}

/** Returns the network with the first groups of an IPv6 address. */
function networkPrefix(address: string, count: number): string {
  const [head = '', tail] = withoutZone(address).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  // An embedded IPv4 address is two groups.
  const groups = [...left, ...right].reduce((sum, group) => sum + (group.includes('.') ? 2 : 1), 0);
  const zeros = tail === undefined ? [] : Array<string>(Math.max(8 - groups, 0)).fill('0');
  const network = [...left, ...zeros, ...right].slice(0, count).map((group) => Number.parseInt(group, 16));
  return `${network.map((group) => group.toString(16)).join(':')}::/${count * 16}`;
}

/** `::ffff:192.0.2.1` is 192.0.2.1 on a socket that listens on both families. */
export function plainAddress(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  return mapped !== undefined && isIPv4(mapped) ? mapped : withoutZone(address);
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1];
  return bracketed ?? text.replace(/^([\d.]+):\d+$/, '$1');
}

function addressFamily(address: string): 'ipv4' | 'ipv6' | undefined {
  return isIPv4(address) ? 'ipv4' : isIPv6(address) ? 'ipv6' : undefined;
}
