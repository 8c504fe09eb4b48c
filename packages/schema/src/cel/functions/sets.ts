import type { CelFunc, CelList } from '@bufbuild/cel';
import { loadCel } from '../../libraries/lazy-libraries.js';
import type { Meter } from '../meter-expression.js';

/**
 * The `sets` extension of the language, which Kubernetes has: lists as sets, whose elements are equal as by `==`.
 * https://pkg.go.dev/github.com/google/cel-go/ext#Sets
 */
export function setFunctions(meter: Meter): CelFunc[] {
  const { CelScalar, celEnv, celFunc, listType } = loadCel();
  const { BOOL, DYN } = CelScalar;
  const LIST = listType(DYN);
  const isIn = celEnv().funcs.find('@in')!;
  const matches = (list: CelList, others: CelList) => {
    meter.budget.charge(list.size * others.size);
    return [...others].map((one) => isIn.call(0, undefined, [one, list]) === true);
  };
  const contains = (list: CelList, others: CelList) => matches(list, others).every((found) => found);
  return [
    celFunc('sets.contains', [LIST, LIST], BOOL, contains),
    celFunc('sets.equivalent', [LIST, LIST], BOOL, (a, b) => contains(a, b) && contains(b, a)),
    celFunc('sets.intersects', [LIST, LIST], BOOL, (a, b) => matches(a, b).some((found) => found)),
  ];
}
