import type { FunctionName } from '@krmhub/schema';

/** Compares functions by group and kind in code unit order, the order of catalog entries. */
export function compareFunctionNames(a: FunctionName, b: FunctionName): number {
  return compareText(a.group, b.group) || compareText(a.kind, b.kind);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
