import type { FunctionName } from '@krmhub/schema';
import { compareText } from '@krmhub/schema/compare-text';

/** Compares functions by group and kind in code unit order, the order of catalog entries. */
export function compareFunctionNames(a: FunctionName, b: FunctionName): number {
  return compareText(a.group, b.group) || compareText(a.kind, b.kind);
}
