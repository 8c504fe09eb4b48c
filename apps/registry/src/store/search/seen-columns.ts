import {
  AccessRules,
  type Actor,
  can,
  type FacetCount,
  readRights,
  type SearchAccess,
  type SearchPage,
} from '@krmhub/catalog';
import type { FacetName } from '@krmhub/schema/facets';
import { LRUCache } from 'lru-cache';
import type { SearchColumns } from './columns.js';

/** What is remembered at a time. One of 100,000 functions takes half a megabyte. */
const MAX_VIEWS = 16;

/** The columns as one actor sees them: a function that it may not read is in no order, count, or name. */
export interface SeenColumns extends SearchColumns {
  /** By id: 1 for each function that exists for the actor. Absent if all do. */
  sees?: Uint8Array;
  /** Whether a value of a facet exists for the actor. Absent if all do. */
  shows?(facet: FacetName, value: string): boolean;
  /** First pages without a query, and counts of a facet over all functions: many clients start there. */
  pages: Map<string, SearchPage>;
  counts: Map<FacetName, FacetCount[]>;
}

/** Returns a function that limits columns to what an actor may read; valid for one state of the columns. */
export function seenColumns(): (columns: SearchColumns, access: SearchAccess | undefined) => SeenColumns {
  const views = new LRUCache<string, SeenColumns>({ max: MAX_VIEWS });
  let state: number | undefined;
  let known: { revision: string; rules: AccessRules } | undefined;
  const rulesOf = ({ revision, document, claims }: SearchAccess): AccessRules => {
    if (known?.revision !== revision)
      known = { revision, rules: new AccessRules(document, claims, revision) };
    return known.rules;
  };
  return (columns, access) => {
    if (columns.state !== state) views.clear();
    state = columns.state;
    const key = access === undefined ? '' : `${access.revision} ${readRights(access.actor)}`;
    const view = views.get(key) ?? viewOf(columns, access && { rules: rulesOf(access), actor: access.actor });
    views.set(key, view);
    return view;
  };
}

function viewOf(columns: SearchColumns, access?: { rules: AccessRules; actor: Actor }): SeenColumns {
  const caches = { pages: new Map<string, SearchPage>(), counts: new Map<FacetName, FacetCount[]>() };
  const all = allOf(columns);
  if (access === undefined) return { ...all, ...caches };
  const { rules, actor } = access;
  const seesCatalog = (catalog: string) => can(rules, actor, 'read', { catalog }).allowed;
  const sees = seenFunctions(columns, rules, actor, seesCatalog);
  const isSeen = (id: number) => sees[id] === 1;
  const names = all.names().filter((_, rank) => isSeen(columns.order[rank]!));
  return {
    ...all,
    ...caches,
    sees,
    shows: (facet, value) => facet !== 'catalog' || seesCatalog(value),
    order: columns.order.filter(isSeen),
    names: () => names,
    idOf(name) {
      const id = all.idOf(name);
      return id !== undefined && isSeen(id) ? id : undefined;
    },
  };
}

/** With its methods: those of a class are not copied. */
function allOf(columns: SearchColumns): SearchColumns {
  return { ...columns, names: () => columns.names(), idOf: (name) => columns.idOf(name) };
}

/** Names are in the order of groups, so each group is decided once, and a kind only if rules name it. */
function seenFunctions(
  columns: SearchColumns,
  rules: AccessRules,
  actor: Actor,
  seesCatalog: (catalog: string) => boolean,
): Uint8Array {
  const { order, ours, shownBy } = columns;
  const sees = new Uint8Array(ours.length);
  const fromSeen = shownBy.matching(shownBy.values().filter(seesCatalog), 'any');
  let of = { group: '', visibility: rules.visibilityOf(''), isSeen: false };
  for (const [rank, { group, kind }] of columns.names().entries()) {
    if (rank === 0 || group !== of.group) {
      const isSeen = can(rules, actor, 'read', { group }).allowed;
      of = { group, visibility: rules.visibilityOf(group), isSeen };
    }
    const isSame = !of.isSeen || rules.visibilityOf(group, kind) === of.visibility;
    const isSeen = isSame ? of.isSeen : can(rules, actor, 'read', { group, kind }).allowed;
    const id = order[rank]!;
    if (isSeen && (ours[id] === 1 || fromSeen[shownBy.numbers[id]!] === 1)) sees[id] = 1;
  }
  return sees;
}
