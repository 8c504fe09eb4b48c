import { defined } from '@krmhub/schema/defined';
import type { AccessRules } from './access-rules.js';
import { type Actor, can } from './can.js';
import { readablePolicies } from './readable-policies.js';

interface Named {
  group?: string;
  kind?: string;
}

/** What of a recipe can name groups and functions. */
interface NamingRecipe {
  sources: readonly {
    match?: readonly Named[];
    exclude: readonly Named[];
    /** What the entries of an upstream catalog are given. */
    catalog?: { group?: string; groups?: Readonly<Record<string, string>> };
  }[];
  policy?: { deny?: readonly Named[]; requireSignature?: readonly { groups: readonly string[] }[] };
}

/** Whether an actor may know every group and function that a recipe names. */
export function readsRecipe(rules: AccessRules, actor: Actor, { sources, policy }: NamingRecipe): boolean {
  const { deny = [], requireSignature: signing = [] } = policy ?? {};
  const named = sources.flatMap(({ match = [], exclude, catalog = {} }): Named[] => [
    ...[...match, ...exclude, catalog],
    ...Object.values(catalog.groups ?? {}).map((group) => ({ group })),
  ]);
  const count = (policies: typeof signing) => policies.flatMap(({ groups }) => groups).length;
  const reads = (group: string, kind?: string) =>
    can(rules, actor, 'read', { group, ...defined({ kind }) }).allowed;
  const isKnown = ({ group, kind }: Named): boolean => {
    if (group !== undefined) return reads(group, kind);
    // A kind alone can be that of a function which a rule hides.
    return kind === undefined || rules.patternsNaming(kind).every((pattern) => reads(pattern, kind));
  };
  return (
    [...named, ...deny].every(isKnown) && count(readablePolicies(rules, actor, signing)) === count(signing)
  );
}
