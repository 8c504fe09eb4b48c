import type { FacetName } from '@krmhub/api/model';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { RUNTIME_KINDS } from '@krmhub/schema/definition';

const TOKEN = /(?<!\S)(tag|kind|group|publisher|runtime|licen[cs]e|catalog):(?:"([^"]+)"|([^\s"]+))(?!\S)/gi;

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
    const isRuntime = (RUNTIME_KINDS as readonly string[]).includes(value);
    if (value.length > REQUEST_LIMITS.maxFilterLength || (facet === 'runtime' && !isRuntime)) return token;
    filters[facet] = [...(filters[facet] ?? []), value];
    return ' ';
  });
  if (Object.keys(filters).length === 0) return undefined;
  return { text: text.replace(/\s+/g, ' ').trim(), filters };
}

function facetOf(name: string): FacetName {
  const lower = name.toLowerCase();
  return lower === 'licence' ? 'license' : (lower as FacetName);
}
