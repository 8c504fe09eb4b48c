import type { FunctionName } from '@krmhub/schema/definition';

/** No domain ends with `invalid` (RFC 2606, section 2), so no function of a catalog has this group. */
const GROUP = 'unnamed.invalid';

/** The name that an entry of a catalog gets in the normal form if its own cannot be read. Positions begin with 1. */
export function unnamedEntry(position: number): { group: string; names: { kind: string } } {
  return { group: GROUP, names: { kind: `Entry${position}` } };
}

/** Returns the position of an entry without a name; undefined for every other name. */
export function unnamedPosition({ group, kind }: FunctionName): number | undefined {
  return group === GROUP ? Number(/^Entry(\d+)$/.exec(kind)?.[1] ?? Number.NaN) || undefined : undefined;
}
