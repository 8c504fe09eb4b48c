import type { CelFunc, CelMap } from '@bufbuild/cel';
import { isIpv4, isIpv6 } from '../../json-schema/value-formats.js';
import { loadCel } from '../../libraries/lazy-libraries.js';
import type { Meter } from '../meter-expression.js';
import { tagged, untagged } from './tagged.js';

/** An address as a number: of 32 bits, or of 128. */
interface Address {
  family: 4 | 6;
  bits: bigint;
}
interface Range extends Address {
  prefix: number;
}

/** Cost of reading an address, which takes as long as some steps of a loop. */
const READ_COST = 10;

/**
 * The functions of Kubernetes for IP addresses and CIDR ranges. An address and a range are equal if their texts mean the
 * same.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-ip-address-library
 */
export function networkFunctions(meter: Meter): CelFunc[] {
  const { CelScalar, celFunc, celMethod, mapType } = loadCel();
  const { BOOL, DYN, INT, STRING } = CelScalar;
  const MAP = mapType(DYN, DYN);
  const charged =
    <Value, Result>(read: (value: Value) => Result) =>
    (value: Value): Result => {
      meter.budget.charge(READ_COST);
      return read(value);
    };
  const [readAddress, readRange] = [charged(requireAddress), charged(requireRange)];
  const [addressOf, rangeOf] = [charged(addressIn), charged(rangeIn)];
  const isSpecial = isWithin(
    ...['0.0.0.0/32', '255.255.255.255/32', '127.0.0.0/8', '224.0.0.0/4', '169.254.0.0/16'],
    ...['::/128', '::1/128', 'ff00::/8', 'fe80::/10'],
  );
  const test = (name: string, matches: (address: Address) => boolean) =>
    celMethod(name, MAP, [], BOOL, function () {
      return matches(addressOf(this));
    });
  return [
    celFunc(
      'isIP',
      [STRING],
      BOOL,
      charged((text) => parseAddress(text) !== undefined),
    ),
    celFunc('ip', [STRING], DYN, (text) => ipValue(readAddress(text))),
    celFunc('ip.isCanonical', [STRING], BOOL, (text) => formatAddress(readAddress(text)) === text),
    celFunc(
      'isCIDR',
      [STRING],
      BOOL,
      charged((text) => parseRange(text) !== undefined),
    ),
    celFunc('cidr', [STRING], DYN, (text) => tagged('cidr', formatRange(readRange(text)))),
    celFunc('string', [MAP], STRING, (value) => {
      const text = untagged('ip', value) ?? untagged('cidr', value);
      if (typeof text !== 'string') throw new Error('a map has no text');
      return text;
    }),
    celMethod('family', MAP, [], INT, function () {
      return BigInt(addressOf(this).family);
    }),
    test('isUnspecified', ({ bits }) => bits === 0n),
    test('isLoopback', isWithin('127.0.0.0/8', '::1/128')),
    test('isLinkLocalMulticast', isWithin('224.0.0.0/24', 'ff02::/16')),
    test('isLinkLocalUnicast', isWithin('169.254.0.0/16', 'fe80::/10')),
    test('isGlobalUnicast', (one) => !isSpecial(one)),
    celMethod('ip', MAP, [], DYN, function () {
      return ipValue(rangeOf(this));
    }),
    celMethod('prefixLength', MAP, [], INT, function () {
      return BigInt(rangeOf(this).prefix);
    }),
    celMethod('masked', MAP, [], DYN, function () {
      const range = rangeOf(this);
      return tagged(
        'cidr',
        formatRange({ ...range, bits: (range.bits >> hostBits(range)) << hostBits(range) }),
      );
    }),
    celMethod('containsIP', MAP, [STRING], BOOL, function (text) {
      return contains(rangeOf(this), readAddress(text));
    }),
    celMethod('containsIP', MAP, [MAP], BOOL, function (address) {
      return contains(rangeOf(this), addressOf(address));
    }),
    celMethod('containsCIDR', MAP, [STRING], BOOL, function (text) {
      return containsRange(rangeOf(this), readRange(text));
    }),
    celMethod('containsCIDR', MAP, [MAP], BOOL, function (range) {
      return containsRange(rangeOf(this), rangeOf(range));
    }),
  ];
}

function ipValue(address: Address) {
  return tagged('ip', formatAddress(address));
}

function addressIn(value: CelMap): Address {
  const text = untagged('ip', value);
  if (typeof text !== 'string') throw new Error('the value is not an IP address');
  return requireAddress(text);
}

function rangeIn(value: CelMap): Range {
  const text = untagged('cidr', value);
  if (typeof text !== 'string') throw new Error('the value is not a CIDR range');
  return requireRange(text);
}

function requireAddress(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${JSON.stringify(text)} is not an IP address`);
  return address;
}

function requireRange(text: string): Range {
  const range = parseRange(text);
  if (range === undefined) throw new Error(`${JSON.stringify(text)} is not a CIDR range`);
  return range;
}

function hostBits({ family, prefix }: Range): bigint {
  return BigInt((family === 4 ? 32 : 128) - prefix);
}

function contains(range: Range, { family, bits }: Address): boolean {
  return family === range.family && bits >> hostBits(range) === range.bits >> hostBits(range);
}

function containsRange(outer: Range, inner: Range): boolean {
  return inner.prefix >= outer.prefix && contains(outer, inner);
}

function isWithin(...texts: string[]): (address: Address) => boolean {
  const ranges = texts.map(requireRange);
  return (address) => ranges.some((range) => contains(range, address));
}

function parseRange(text: string): Range | undefined {
  const [, address = '', digits = ''] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const parsed = parseAddress(address);
  const prefix = Number(digits);
  if (parsed === undefined || prefix > (parsed.family === 4 ? 32 : 128)) return undefined;
  return { ...parsed, prefix };
}

/** As Go's netip, but without zones, and without IPv4 addresses in IPv6, as Kubernetes. */
function parseAddress(text: string): Address | undefined {
  if (isIpv4(text)) return { family: 4, bits: joinParts(text.split('.').map(Number), 8n) };
  if (!isIpv6(text)) return undefined;
  const [head = [], tail = []] = text.split('::').map(parseGroups);
  const zeros = Array<number>(8 - head.length - tail.length).fill(0);
  const bits = joinParts([...head, ...zeros, ...tail], 16n);
  return bits >> 32n === 0xffffn ? undefined : { family: 6, bits };
}

function parseGroups(half: string): number[] {
  return (half === '' ? [] : half.split(':')).flatMap((part) => {
    const [a, b, c, d] = part.split('.').map(Number);
    return d === undefined ? Number.parseInt(part, 16) : [a! * 256 + b!, c! * 256 + d];
  });
}

function joinParts(parts: readonly number[], size: bigint): bigint {
  return parts.reduce((sum, part) => (sum << size) + BigInt(part), 0n);
}

function formatRange(range: Range): string {
  return `${formatAddress(range)}/${range.prefix}`;
}

/** The longest run of zeros, of at least two groups, is `::` (RFC 5952). */
function formatAddress({ family, bits }: Address): string {
  const count = family === 4 ? 4 : 8;
  const size = family === 4 ? 8n : 16n;
  const parts = Array.from({ length: count }, (_, at) =>
    Number((bits >> (size * BigInt(count - 1 - at))) & ((1n << size) - 1n)),
  );
  if (family === 4) return parts.join('.');
  let best = { start: 0, length: 1 };
  for (let start = 0; start < 8; start++) {
    let end = start;
    while (end < 8 && parts[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
  }
  const text = (from: number, to: number) =>
    parts
      .slice(from, to)
      .map((part) => part.toString(16))
      .join(':');
  if (best.length < 2) return text(0, 8);
  return `${text(0, best.start)}::${text(best.start + best.length, 8)}`;
}
