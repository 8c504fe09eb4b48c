import type { SearchResult } from '@krmhub/api/model';
import { SEARCH_ORDERS, type SearchOrder } from '@krmhub/api/parameters';
import { defined } from '@krmhub/schema/defined';
import { describeFacet, FACET_NAMES, type FacetName, isYesOrNo } from '@krmhub/schema/facets';
import { type SearchLink, searchPath } from '../addresses.js';

/** The parameters of the search page, without a default order. */
export type Search = Omit<SearchLink, 'sort'> & { sort?: SearchOrder | undefined };

/** What most people choose by comes first. */
const FIRST: readonly FacetName[] = [
  'tag',
  'runtime',
  'pinned',
  'network',
  'storage',
  'group',
  'owner',
  'license',
  'signedBy',
  'catalog',
];

/** Facets, in display order. */
export const FACETS = [...new Set([...FIRST, ...FACET_NAMES])].map((name) => ({
  name,
  ...describeFacet(name),
}));

/** Maximum number of visible values of a facet. */
const MAX_FACET_VALUES = 6;

export interface FacetValue {
  /** As people read it. */
  text: string;
  /** Absent for a selected value that is not among the most frequent. */
  count?: number;
  isChosen: boolean;
  /** The search with the value, or without it if it is selected. */
  path: string;
}

export interface FacetView {
  name: FacetName;
  title: string;
  /** The selected values, and the most frequent. */
  first: FacetValue[];
  more: FacetValue[];
}

/** A filter or the text of the search, with the search without this filter. */
export interface Chip {
  /** Absent for the text of the search. */
  facet?: FacetName;
  title: string;
  value: string;
  path: string;
}

/** Returns the facets that can narrow the search or already do. */
export function facetViews(search: Search, { facets, total }: SearchResult): FacetView[] {
  return FACETS.flatMap(({ name, title }) => {
    const chosen = search[name] ?? [];
    const values = [
      ...chosen.map((value) => ({ ...findValue(facets, name, value), value })),
      ...facets[name].filter(
        ({ value, count }) => !isAmong(chosen, value, name) && narrowsResults(name, count),
      ),
    ].map((found) => facetValue(search, name, found));
    // A single value that every result has leaves no choice.
    const isOne = chosen.length === 0 && values.length === 1 && values[0]?.count === total;
    if (values.length === 0 || isOne || values.every(({ count = 0 }) => count === 0)) return [];
    const shown = Math.max(MAX_FACET_VALUES, chosen.length);
    return [{ name, title, first: values.slice(0, shown), more: values.slice(shown) }];
  });
}

function facetValue(
  search: Search,
  name: FacetName,
  { value, text, count }: { value: string; text?: string; count?: number },
): FacetValue {
  const isChosen = (search[name] ?? []).includes(value);
  return {
    text: text ?? facetText(name, value),
    ...defined({ count }),
    isChosen,
    path: isChosen ? pathWithout(search, name, value) : pathWith(search, name, value),
  };
}

/** Facts of a release are `true` or `false`. */
export function facetText(name: FacetName, value: string): string {
  return isYesOrNo(name) ? (value === 'true' ? 'yes' : 'no') : value;
}

function narrowsResults(name: FacetName, count: number): boolean {
  const { offered } = describeFacet(name);
  return offered === undefined || (offered === 'of-several-functions' && count > 1);
}

function isAmong(chosen: readonly string[], value: string, name: FacetName): boolean {
  return describeFacet(name).ignoresCase
    ? chosen.some((one) => one.toLowerCase() === value.toLowerCase())
    : chosen.includes(value);
}

/** Returns what a search counted for a chosen value, whatever its case if that does not matter. */
function findValue(facets: SearchResult['facets'], name: FacetName, chosen: string) {
  return (
    facets[name].find(({ value }) => value === chosen) ??
    facets[name].find(({ value }) => isAmong([chosen], value, name))
  );
}

export function chips(search: Search, { facets }: SearchResult): Chip[] {
  const { q } = search;
  return [
    ...(q === undefined || q.trim() === ''
      ? []
      : [{ title: 'Text', value: q, path: searchPath(firstPage({ ...search, q: undefined })) }]),
    ...FACETS.flatMap(({ name, title }) =>
      (search[name] ?? []).map((value) => ({
        facet: name,
        title,
        value: findValue(facets, name, value)?.text ?? facetText(name, value),
        path: pathWithout(search, name, value),
      })),
    ),
  ];
}

const ORDER_TITLES: Record<SearchOrder, string> = {
  relevance: 'Relevance',
  name: 'Name',
  newest: 'Newest',
};

/** Relevance requires a text; without one, the order is by name. */
export function orderLinks(search: Search): { title: string; isChosen: boolean; path: string }[] {
  const isText = (search.q ?? '').trim() !== '';
  const usual: SearchOrder = isText ? 'relevance' : 'name';
  const chosen = search.sort ?? usual;
  return SEARCH_ORDERS.filter((order) => isText || order !== 'relevance').map((order) => ({
    title: ORDER_TITLES[order],
    isChosen: order === chosen,
    path: searchPath(firstPage({ ...search, sort: order === usual ? undefined : order })),
  }));
}

/** Returns the parameters of the search except its text, for the search form. */
export function otherParameters(search: Search): [name: string, value: string][] {
  return [
    ...FACETS.flatMap(({ name }) => (search[name] ?? []).map((value): [string, string] => [name, value])),
    ...(search.sort === undefined ? [] : [['sort', search.sort] as [string, string]]),
  ];
}

function pathWith(search: Search, name: FacetName, value: string): string {
  return searchPath(firstPage({ ...search, [name]: [...(search[name] ?? []), value] }));
}

function pathWithout(search: Search, name: FacetName, value: string): string {
  return searchPath(firstPage({ ...search, [name]: (search[name] ?? []).filter((one) => one !== value) }));
}

/** A cursor is valid for one search only. */
export function firstPage(search: SearchLink): SearchLink {
  return { ...search, cursor: undefined };
}
