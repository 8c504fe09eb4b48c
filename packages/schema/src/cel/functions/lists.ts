import type { CelFunc, CelList, CelValue } from '@bufbuild/cel';
import { loadCel } from '../../libraries/lazy-libraries.js';
import type { Meter } from '../meter-expression.js';

/**
 * The functions of Kubernetes for lists, and `join` at its cost.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library
 */
export function listFunctions(meter: Meter): CelFunc[] {
  const { CelScalar, celMethod, listType } = loadCel();
  const { BOOL, DYN, INT, STRING } = CelScalar;
  const LIST = listType(DYN);
  const join = (list: CelList, separator: string) => {
    meter.budget.chargeText(list.size * separator.length);
    return [...list].map((item) => requireText(item)).join(separator);
  };
  return [
    celMethod('isSorted', LIST, [], BOOL, function () {
      const items = [...this];
      return items.every((item, index) => index === 0 || compare(items[index - 1]!, item) <= 0);
    }),
    celMethod('sum', LIST, [], DYN, function () {
      return [...this].reduce<CelValue>((total, item) => add(total, item), 0n);
    }),
    celMethod('min', LIST, [], DYN, function () {
      return extreme(this, -1);
    }),
    celMethod('max', LIST, [], DYN, function () {
      return extreme(this, 1);
    }),
    celMethod('indexOf', LIST, [DYN], INT, function (value) {
      return BigInt([...this].findIndex((item) => isSame(item, value)));
    }),
    celMethod('lastIndexOf', LIST, [DYN], INT, function (value) {
      const items = [...this];
      for (let index = items.length - 1; index >= 0; index--) {
        if (isSame(items[index]!, value)) return BigInt(index);
      }
      return -1n;
    }),
    // The lists that conversions return have elements of any type.
    celMethod('join', LIST, [], STRING, function () {
      return join(this, '');
    }),
    celMethod('join', LIST, [STRING], STRING, function (separator) {
      return join(this, separator);
    }),
  ];
}

/** Compares two numbers, texts, booleans, timestamps, or durations. Throws for others. */
export function compare(left: CelValue, right: CelValue): number {
  const [a, b] = [orderKey(left), orderKey(right)];
  if (typeof a === 'string' || typeof b === 'string') {
    if (typeof a !== typeof b) throw new Error('values of different types have no order');
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

function orderKey(value: CelValue): number | bigint | string {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  const message = (value as { message?: { seconds?: unknown; nanos?: unknown } } | null)?.message;
  if (typeof message?.seconds === 'bigint' && typeof message.nanos === 'number') {
    return message.seconds * 1_000_000_000n + BigInt(message.nanos);
  }
  if (loadCel().isCelUint(value)) return value.value;
  throw new Error(`values of type ${loadCel().celType(value).name} have no order`);
}

function isSame(left: CelValue, right: CelValue): boolean {
  if (left === right) return true;
  try {
    return compare(left, right) === 0;
  } catch {
    return false;
  }
}

function add(left: CelValue, right: CelValue): CelValue {
  if (typeof left === 'bigint' && typeof right === 'bigint') return left + right;
  if (typeof left === 'number' || typeof right === 'number') return Number(left) + Number(right);
  throw new Error('sum() is defined for numbers');
}

function extreme(list: CelList, sign: 1 | -1): CelValue {
  const [first, ...rest] = list;
  if (first === undefined) throw new Error(`${sign === 1 ? 'max' : 'min'}() of an empty list`);
  return rest.reduce((best, item) => (compare(item, best) * sign > 0 ? item : best), first);
}

function requireText(value: CelValue): string {
  if (typeof value === 'string') return value;
  throw new Error('join() is defined for lists of strings');
}
