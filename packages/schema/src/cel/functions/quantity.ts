import type { CelFunc, CelInput, CelMap } from '@bufbuild/cel';
import { loadCel, loadVersionOrder } from '../../libraries/lazy-libraries.js';
import { readVersion } from './semver.js';
import { tagged, untagged } from './tagged.js';

/** Kubernetes rounds smaller quantities up to this one. */
const NANOS = 1_000_000_000n;
const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,2})$/;
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL: Readonly<Record<string, number>> = {
  '': 0,
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
/** Maximum number of digits: the largest quantity has 19. */
const MAX_DIGITS = 60;

/**
 * The functions of Kubernetes for quantities such as `1.5Gi`. Those that compare take semantic versions, too.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library
 */
export function quantityFunctions(): CelFunc[] {
  const { CelScalar, celFunc, celMethod, mapType } = loadCel();
  const { BOOL, DOUBLE, DYN, INT, STRING } = CelScalar;
  const QUANTITIES = mapType(DYN, DYN);
  const order = (left: CelMap, right: CelMap) => {
    const [version, other] = [readVersion(left), readVersion(right)];
    if (version !== undefined && other !== undefined) return BigInt(loadVersionOrder()(version, other));
    const [a, b] = [readNanos(left), readNanos(right)];
    return a < b ? -1n : a > b ? 1n : 0n;
  };
  return [
    celFunc('quantity', [STRING], DYN, (text) => {
      const nanos = parseQuantity(text);
      if (nanos === undefined) throw new Error(`${JSON.stringify(text)} is not a quantity`);
      return quantity(nanos);
    }),
    celFunc('isQuantity', [STRING], BOOL, (text) => parseQuantity(text) !== undefined),
    celMethod('isInteger', QUANTITIES, [], BOOL, function () {
      return readNanos(this) % NANOS === 0n;
    }),
    celMethod('asInteger', QUANTITIES, [], INT, function () {
      if (readNanos(this) % NANOS !== 0n) throw new Error('the quantity is not an integer');
      return readNanos(this) / NANOS;
    }),
    celMethod('asApproximateFloat', QUANTITIES, [], DOUBLE, function () {
      return Number(readNanos(this)) / Number(NANOS);
    }),
    celMethod('sign', QUANTITIES, [], INT, function () {
      return order(this, quantity(0n) as unknown as CelMap);
    }),
    celMethod('compareTo', QUANTITIES, [QUANTITIES], INT, function (other) {
      return order(this, other);
    }),
    celMethod('isGreaterThan', QUANTITIES, [QUANTITIES], BOOL, function (other) {
      return order(this, other) > 0n;
    }),
    celMethod('isLessThan', QUANTITIES, [QUANTITIES], BOOL, function (other) {
      return order(this, other) < 0n;
    }),
    ...(['add', 'sub'] as const).flatMap((name) => {
      const sign = name === 'add' ? 1n : -1n;
      return [
        celMethod(name, QUANTITIES, [QUANTITIES], DYN, function (other) {
          return quantity(readNanos(this) + sign * readNanos(other));
        }),
        celMethod(name, QUANTITIES, [INT], DYN, function (other) {
          return quantity(readNanos(this) + sign * other * NANOS);
        }),
      ];
    }),
  ];
}

/** Returns a quantity in billionths, rounded away from zero, or undefined if the text is none. */
export function parseQuantity(text: string): bigint | undefined {
  const [, sign, whole = '', fraction = '', suffix = ''] = QUANTITY.exec(text) ?? [];
  if (sign === undefined || whole.length + fraction.length === 0) return undefined;
  if (whole.length + fraction.length > MAX_DIGITS) return undefined;
  const binary = BINARY.indexOf(suffix);
  const exponent = DECIMAL[suffix] ?? (binary >= 0 ? 0 : Number(suffix.slice(1)));
  const digits = BigInt(whole + fraction) * NANOS * (binary >= 0 ? 1024n ** BigInt(binary + 1) : 1n);
  const shift = exponent - fraction.length;
  const power = 10n ** BigInt(Math.abs(shift));
  const nanos = shift >= 0 ? digits * power : (digits + power - 1n) / power;
  return sign === '-' ? -nanos : nanos;
}

function quantity(nanos: bigint): CelInput {
  return tagged('quantity', nanos);
}

function readNanos(value: CelMap): bigint {
  const nanos = untagged('quantity', value);
  if (typeof nanos !== 'bigint') throw new Error('the value is not a quantity');
  return nanos;
}
