import type { FacetName } from '@krmhub/api/model';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { RUNTIME_KINDS } from '@krmhub/schema/definition';

const TOKEN =
  /(?<!\S)(tag|kind|group|publisher|runtime|licen[cs]e|catalog|apiVersion|pinned|network|storage):(?:"([^"]+)"|([^\s"]+))(?!\S)/gi;

const FACT = ['true', 'false'];
/** The values of filters that accept no others. */
const ALLOWED: Partial<Record<FacetName, readonly string[]>> = {
  runtime: RUNTIME_KINDS,
  pinned: FACT,
  network: FACT,
  storage: FACT,
};

/** Input of a search box: words, and filters such as `tag:mutator` or `publisher:"Example Co"`. */
export interface TypedQuery {
  /** The text without the filters. */
  text: string;
  filters: Partial<Record<FacetName, string[]>>;
}

/** Returns undefined if the text has no filters. Invalid filters, such as an unknown runtime, remain text. */
export function typedFilters(typed: string): TypedQuery | undefined {
  const filters: TypedQuery['filters'] = {};
  const text = typed.replace(TOKEN, (token, name: string, quoted?: string, plain?: string) => {
    const facet = facetOf(name);
    const value = quoted ?? plain ?? '';
    const allowed: readonly string[] | undefined = ALLOWED[facet];
    if (value.length > REQUEST_LIMITS.maxFilterLength || allowed?.includes(value) === false) return token;
    filters[facet] = [...(filters[facet] ?? []), value];
    return ' ';
  });
  if (Object.keys(filters).length === 0) return undefined;
  return { text: text.replace(/\s+/g, ' ').trim(), filters };
}

function facetOf(name: string): FacetName {
  const lower = name.toLowerCase();
  if (lower === 'apiversion') return 'apiVersion';
  return lower === 'licence' ? 'license' : (lower as FacetName);
}
