import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { printable } from '@krmhub/schema/network-reason';
import { SourceFailure } from './failure.js';

/** How a name is looked up: every address that it has. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** IPv4 ranges that are not the public Internet (IANA IPv4 Special-Purpose Address Registry, and multicast). */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
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
/** Everything public is in it (IANA IPv6 Global Unicast Address Assignments) … */
const GLOBAL_IPV6 = ['2000::/3'];
/** … but for these (IANA IPv6 Special-Purpose Address Registry): Teredo, benchmarks, documentation, 6to4. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
/** The last 32 bits are an IPv4 address, which is where the packets go (RFC 4291, RFC 6052). */
const EMBEDDED_IPV4 = ['::ffff:0:0/96', '64:ff9b::/96'];

const specialIpv4 = rangesOf(SPECIAL_IPV4);
const globalIpv6 = rangesOf(GLOBAL_IPV6);
const specialIpv6 = rangesOf(SPECIAL_IPV6);
const embeddedIpv4 = rangesOf(EMBEDDED_IPV4);

/**
 * Says which addresses may be connected to: public ones, and those that the operator names. Names are judged by what
 * they resolve to in the moment in which the connection is made, so that an answer of DNS that changes gains nothing.
 */
export class AddressGuard {
  readonly #allowed: BlockList | 'all';
  readonly #resolve: Resolve;

  /** Throws a RangeError for what `invalidRanges` names. */
  constructor(allowed: readonly string[] | 'all', resolve: Resolve = systemResolve) {
    this.#allowed = allowed === 'all' ? 'all' : rangesOf(allowed);
    this.#resolve = resolve;
  }

  allows(address: string): boolean {
    const judged = plainAddress(address);
    const family = isIP(judged);
    if (family === 0) return false;
    if (this.#allowed === 'all' || this.#allowed.check(judged, family === 4 ? 'ipv4' : 'ipv6')) return true;
    if (family === 4) return !specialIpv4.check(judged, 'ipv4');
    return globalIpv6.check(judged, 'ipv6') && !specialIpv6.check(judged, 'ipv6');
  }

  /** For a host that is an address already, for which no name is looked up. Throws a SourceFailure. */
  checkHost(host: string): void {
    const address = unbracketed(host);
    if (isIP(address) !== 0 && !this.allows(address)) throw forbidden(host, [address]);
  }

  /** The addresses of a host that may be connected to. Rejects with a SourceFailure where none may, or DNS knows none. */
  async resolve(host: string): Promise<LookupAddress[]> {
    const literal = unbracketed(host);
    const family = isIP(literal);
    const found = family === 0 ? await this.#resolve(host) : [{ address: literal, family }];
    const allowed = found.filter(({ address }) => this.allows(address));
    if (allowed.length > 0) return allowed;
    if (found.length > 0) {
      throw forbidden(
        host,
        found.map(({ address }) => address),
      );
    }
    throw Object.assign(new Error(`no address for ${host}`), { code: 'ENOTFOUND' });
  }

  /** What `node:net` calls before it connects to a name. */
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
}

/** Those of a list of addresses and CIDR ranges that are neither. */
export function invalidRanges(entries: readonly string[]): string[] {
  return entries.filter((entry) => readRange(entry) === undefined);
}

function isFamily(family: unknown): boolean {
  return family === 4 || family === 6 || family === 'IPv4' || family === 'IPv6';
}

function systemResolve(hostname: string): Promise<LookupAddress[]> {
  return lookup(hostname, { all: true });
}

function rangesOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const range = readRange(entry);
    if (range === undefined) throw new RangeError(`"${entry}" is neither an address nor a CIDR range`);
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

/** An IPv4 address that is written, or carried, as an IPv6 one is judged as what it is; zones say nothing. */
function plainAddress(address: string): string {
  const bare = address.split('%')[0]!;
  if (isIP(bare) !== 6 || !embeddedIpv4.check(bare, 'ipv6')) return bare;
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

function forbidden(host: string, addresses: readonly string[]): SourceFailure {
  const is = addresses[0] === unbracketed(host) ? '' : ` (${printable(addresses.slice(0, 3).join(', '))})`;
  return new SourceFailure(
    'forbidden-address',
    `${printable(host)}${is} is not an address of the public Internet`,
    {
      hint: 'Sources in private networks have to be allowed by whoever runs this, by address or CIDR range.',
    },
  );
}
