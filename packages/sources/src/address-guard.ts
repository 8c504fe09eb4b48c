import type { LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { printable } from '@krmhub/schema/network-reason';
import { SourceFailure } from './failure.js';

/** A DNS lookup that returns all addresses of a name. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** IPv4 ranges that are not the public Internet (IANA IPv4 Special-Purpose Address Registry, multicast, and metadata). */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // The platform of Azure answers at a public address.
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** All public addresses (IANA IPv6 Global Unicast Address Assignments), … */
const GLOBAL_IPV6 = ['2000::/3'];
/** … except these (IANA IPv6 Special-Purpose Address Registry): Teredo, benchmarks, documentation, 6to4. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
/** Addresses whose last 32 bits are the real IPv4 address (RFC 4291, RFC 6052). */
const EMBEDDED_IPV4 = ['::ffff:0:0/96', '64:ff9b::/96'];

interface KnownRanges {
  specialIpv4: BlockList;
  globalIpv6: BlockList;
  specialIpv6: BlockList;
  embeddedIpv4: BlockList;
}

let known: KnownRanges | undefined;

/** Made when the first address is judged, because it takes milliseconds of the start of every command. */
function knownRanges(): KnownRanges {
  known ??= {
    specialIpv4: parseRanges(SPECIAL_IPV4),
    globalIpv6: parseRanges(GLOBAL_IPV6),
    specialIpv6: parseRanges(SPECIAL_IPV6),
    embeddedIpv4: parseRanges(EMBEDDED_IPV4),
  };
  return known;
}

/** CIDR ranges and addresses that are allowed besides public ones, or `as-named` (see `AddressGuard`). */
export type AllowedAddresses = readonly string[] | 'as-named';

/**
 * Restricts connections to public addresses and to those that the operator allows. Names are resolved and checked at
 * the time of the connection, which prevents DNS rebinding.
 *
 * `as-named` is for the command line of a user, who may name any host: the first host may have any address, but a
 * public one leads to no private one, neither by a redirect nor when its name is resolved again. Where a document names
 * the address, the host of the document is the first.
 */
export class AddressGuard {
  readonly #allowed: BlockList | 'as-named';
  readonly #resolve: Resolve;
  /** For `as-named`: whether the first host is public; undefined before the first connection. */
  #startedPublic: boolean | undefined;
  #isNamed = false;

  /** Throws a RangeError for an invalid range (see `invalidRanges`). */
  constructor(allowed: AllowedAddresses, resolve: Resolve = systemResolve) {
    this.#allowed = allowed === 'as-named' ? allowed : parseRanges(allowed);
    this.#resolve = resolve;
  }

  /** Reports whether the address is allowed. Under `as-named`, every address is until the first host is known. */
  allows(address: string): boolean {
    const judged = plainAddress(address);
    const family = isIP(judged);
    if (family === 0) return false;
    if (this.#allowed === 'as-named') return this.#startedPublic !== true || isPublic(judged);
    return this.#allowed.check(judged, family === 4 ? 'ipv4' : 'ipv6') || isPublic(judged);
  }

  /** Checks a host that is a literal address, for which there is no DNS lookup. Throws a SourceFailure. */
  checkHost(host: string): void {
    const address = unbracketed(host);
    if (isIP(address) === 0) return;
    this.#start([address]);
    if (!this.allows(address)) throw this.#forbidden(host, [address]);
  }

  /** Starts at the host of a document that names the address. One that cannot be looked up counts as public. */
  async startAt(host: string, { isProxied = false } = {}): Promise<void> {
    this.#isNamed = true;
    if (isProxied) return this.checkProxied(host);
    await this.resolve(host).catch(() => undefined);
    this.#startedPublic ??= true;
  }

  /** Checks a host that a proxy connects to. Only the proxy knows the address of a name. Throws a SourceFailure. */
  checkProxied(host: string): void {
    if (isIP(unbracketed(host)) === 0) this.#startedPublic ??= true;
    else this.checkHost(host);
  }

  /** Returns the allowed addresses of a host. Rejects with a SourceFailure if none is allowed, or with ENOTFOUND. */
  async resolve(host: string): Promise<LookupAddress[]> {
    const literal = unbracketed(host);
    const family = isIP(literal);
    const found = family === 0 ? await this.#resolve(host) : [{ address: literal, family }];
    const addresses = found.map(({ address }) => address);
    this.#start(addresses);
    const allowed = found.filter(({ address }) => this.allows(address));
    if (allowed.length > 0) return allowed;
    if (found.length > 0) throw this.#forbidden(host, addresses);
    throw Object.assign(new Error(`no address for ${host}`), { code: 'ENOTFOUND' });
  }

  /** The lookup function for `node:net`. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.resolve(hostname).then(
      (found) => {
        const { family } = options;
        const wanted = found.filter(
          (one) => !isFamily(family) || one.family === Number(String(family).at(-1)),
        );
        const [first] = wanted;
        if (first === undefined) {
          callback(Object.assign(new Error(`no address for ${hostname}`), { code: 'ENOTFOUND' }), '', 0);
        } else if (options.all === true) callback(null, wanted);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error, '', 0),
    );
  };

  /** A host with any public address counts as public: its private ones are not used. */
  #start(addresses: readonly string[]): void {
    if (addresses.length > 0) this.#startedPublic ??= addresses.some((one) => isPublic(plainAddress(one)));
  }

  #forbidden(host: string, addresses: readonly string[]): SourceFailure {
    const is = addresses[0] === unbracketed(host) ? '' : ` (${printable(addresses.slice(0, 3).join(', '))})`;
    return new SourceFailure(
      'forbidden-address',
      `${printable(host)}${is} is not an address of the public Internet`,
      {
        hint:
          this.#allowed === 'as-named'
            ? this.#isNamed
              ? 'A document from a public server refers to it. If you trust the document, copy it to this machine.'
              : 'A public server redirects to it. If you trust it, use its URL directly.'
            : 'Ask the operator to add the address to KRMHUB_SOURCE_ADDRESSES.',
      },
    );
  }
}

function isPublic(address: string): boolean {
  const { specialIpv4, globalIpv6, specialIpv6 } = knownRanges();
  if (isIP(address) === 4) return !specialIpv4.check(address, 'ipv4');
  return globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6');
}

/** Returns the entries that are not addresses or CIDR ranges. */
export function invalidRanges(entries: readonly string[]): string[] {
  return entries.filter((entry) => readRange(entry) === undefined);
}

function isFamily(family: unknown): boolean {
  return family === 4 || family === 6 || family === 'IPv4' || family === 'IPv6';
}

async function systemResolve(hostname: string): Promise<LookupAddress[]> {
  const { lookup } = await import('node:dns/promises');
  return lookup(hostname, { all: true });
}

function parseRanges(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const range = readRange(entry);
    if (range === undefined) throw new RangeError(`"${entry}" is not an address or a CIDR range`);
    list.addSubnet(range.address, range.bits, range.family);
  }
  return list;
}

function readRange(entry: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } | undefined {
  const [, address = '', bits] = /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const version = isIP(address);
  const most = version === 4 ? 32 : 128;
  if (version === 0 || Number(bits ?? 0) > most) return undefined;
  return {
    address,
    bits: bits === undefined ? most : Number(bits),
    family: version === 4 ? 'ipv4' : 'ipv6',
  };
}

/** Converts an IPv4 address in IPv6 notation to IPv4, and removes the zone. */
function plainAddress(address: string): string {
  const bare = address.split('%')[0]!;
  if (isIP(bare) !== 6 || !knownRanges().embeddedIpv4.check(bare, 'ipv6')) return bare;
  const [high = 0, low = 0] = new URL(`http://[${bare}]`).hostname
    .slice(1, -1)
    .split(':')
    .slice(-2)
    .map((group) => Number.parseInt(group === '' ? '0' : group, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

export function unbracketed(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
