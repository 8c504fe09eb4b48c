import {
  AccessRules,
  type Actor,
  can,
  type FacetCount,
  readRights,
  readSearchAccess,
  type SearchAccess,
  type SearchPage,
} from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { FacetName } from '@krmhub/schema/facets';
import { LRUCache } from 'lru-cache';
import type { Alternatives, Name, SearchColumns } from './columns.js';
import type { CountedColumn, FacetColumn } from './facet-column.js';
import { OwnerColumn } from './owner-column.js';

/** What is remembered at a time. One of 100,000 functions takes half a megabyte. */
const MAX_VIEWS = 16;

/** The columns as one actor sees them: a function that it may not read is in no order, count, or name. */
export interface SeenColumns extends Omit<SearchColumns, 'facets' | 'idsOf'> {
  facets: Record<FacetName, CountedColumn>;
  /** The facet `owner`. */
  owners: OwnerColumn;
  rules: AccessRules;
  /** By id: 1 for each function that exists for the search. Absent if all do. */
  sees?: Uint8Array;
  /** Returns the id of a function; undefined if none with exactly this name exists for the search. */
  idOf(name: Name): number | undefined;
  /** Whether a value of a facet exists for the actor. Absent if all do. */
  shows?(facet: FacetName, value: string): boolean;
  /** First pages without a query, and counts of a facet over all functions: many clients start there. */
  pages: Map<string, SearchPage>;
  counts: Map<FacetName, FacetCount[]>;
  /** How many functions have a word: only the first correction to a word that no function has takes longer. */
  words: Map<string, number>;
}

/**
 * Returns a function that adds the owners of groups to columns, and limits them to what an actor may read; valid for
 * one state of the columns.
 */
export function seenColumns(): (columns: SearchColumns, access: SearchAccess | undefined) => SeenColumns {
  const views = new LRUCache<string, SeenColumns>({ max: MAX_VIEWS });
  let state: number | undefined;
  let known = new AccessRules();
  let owners: OwnerColumn | undefined;
  const rulesOf = (access: SearchAccess | undefined): AccessRules => {
    if (known.revision !== (access?.revision ?? ''))
      known = access === undefined ? new AccessRules() : readSearchAccess(access);
    return known;
  };
  const ownersOf = (groups: FacetColumn, rules: AccessRules): OwnerColumn => {
    if (owners?.isOf(groups, rules) === true) owners.update();
    else owners = new OwnerColumn(groups, rules);
    return owners!;
  };
  return (columns, access) => {
    if (columns.state !== state) views.clear();
    state = columns.state;
    const { revision = '', actor } = access ?? {};
    const key = actor === undefined ? revision : `${revision} ${readRights(actor)}`;
    const rules = rulesOf(access);
    const view = views.get(key) ?? viewOf(columns, ownersOf(columns.facets.owner, rules), { rules, actor });
    views.set(key, view);
    return view;
  };
}

function viewOf(
  columns: SearchColumns,
  owners: OwnerColumn,
  { rules, actor }: { rules: AccessRules; actor: Actor | undefined },
): SeenColumns {
  const all = {
    ...columns,
    names: () => columns.names(),
    idOf: (name: Name) => columns.idsOf(name)[0],
    facets: { ...columns.facets, owner: owners },
    owners,
    rules,
    pages: new Map<string, SearchPage>(),
    counts: new Map<FacetName, FacetCount[]>(),
    words: new Map<string, number>(),
  };
  if (actor === undefined && columns.alternatives.size === 0) return all;
  const readable = new Map<string, boolean>();
  const seesCatalog = (catalog: string): boolean => {
    if (actor === undefined) return true;
    const known = readable.get(catalog) ?? can(rules, actor, 'read', { catalog }).allowed;
    readable.set(catalog, known);
    return known;
  };
  const sees =
    actor === undefined
      ? new Uint8Array(columns.ours.length).fill(1)
      : seenFunctions(columns, rules, actor, seesCatalog);
  for (const rows of columns.alternatives.values()) hideOthers(rows, sees, seesCatalog);
  const isSeen = (id: number) => sees[id] === 1;
  const showsValue = (facet: FacetName, value: string) => facet !== 'catalog' || seesCatalog(value);
  const names = all.names().filter((_, rank) => isSeen(columns.order[rank]!));
  return {
    ...all,
    sees,
    ...defined({ shows: actor === undefined ? undefined : showsValue }),
    order: columns.order.filter(isSeen),
    names: () => names,
    idOf: (name) => columns.idsOf(name).find(isSeen),
  };
}

/**
 * Leaves one of the rows of a name: the entry of the first catalog that the actor may read. If no newest snapshot has
 * any of them, the first one stays until search is synchronized.
 */
function hideOthers(
  { ids, shown }: Alternatives,
  sees: Uint8Array,
  seesCatalog: (catalog: string) => boolean,
): void {
  const displayed = shown.length === 0 ? ids[0] : shown.find(({ catalog }) => seesCatalog(catalog))?.id;
  for (const id of ids) if (id !== displayed) sees[id] = 0;
}

/**
 * Names are in the order of groups, so each group is decided once, and a kind only if the rules or the token of the actor
 * name functions of the group.
 */
function seenFunctions(
  columns: SearchColumns,
  rules: AccessRules,
  actor: Actor,
  seesCatalog: (catalog: string) => boolean,
): Uint8Array {
  const { order, ours, shownBy } = columns;
  const sees = new Uint8Array(ours.length);
  const fromSeen = shownBy.matching(shownBy.values().filter(seesCatalog), 'any');
  const named = new Set(
    actor.groups.flatMap((name) => (name.includes('/') ? name.toLowerCase().split('/', 1) : [])),
  );
  let of = { group: '', visibility: rules.visibilityOf(''), isSeen: false };
  for (const [rank, { group, kind }] of columns.names().entries()) {
    if (rank === 0 || group !== of.group) {
      const isSeen = can(rules, actor, 'read', { group }).allowed;
      of = { group, visibility: rules.visibilityOf(group), isSeen };
    }
    const isSame = of.isSeen
      ? rules.visibilityOf(group, kind) === of.visibility
      : !named.has(group.toLowerCase());
    const isSeen = isSame ? of.isSeen : can(rules, actor, 'read', { group, kind }).allowed;
    const id = order[rank]!;
    if (isSeen && (ours[id] === 1 || fromSeen[shownBy.numbers[id]!] === 1)) sees[id] = 1;
  }
  return sees;
}
