import { describeFacet, FACET_NAMES, type FacetName } from '@krmhub/schema/facets';

/** Facets by what people type before the colon, in lower case. */
const WORDS = new Map(
  FACET_NAMES.flatMap((name) =>
    [name, ...(describeFacet(name).aliases ?? [])].map((word): [string, FacetName] => [
      word.toLowerCase(),
      name,
    ]),
  ),
);
const TOKEN = new RegExp(`(?<!\\S)(${[...WORDS.keys()].join('|')}):(?:"([^"]+)"|([^\\s"]+))(?!\\S)`, 'gi');

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
    const facet = WORDS.get(name.toLowerCase())!;
    const value = quoted ?? plain ?? '';
    const { values, maxLength } = describeFacet(facet);
    if (value.length > maxLength || values?.includes(value) === false) return token;
    filters[facet] = [...(filters[facet] ?? []), value];
    return ' ';
  });
  if (Object.keys(filters).length === 0) return undefined;
  return { text: text.replace(/\s+/g, ' ').trim(), filters };
}
