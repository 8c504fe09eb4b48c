import { FACET_NAMES, FACETS, type FacetName } from '@krmhub/schema/facets';
import { describe, expect, it } from 'vitest';
import { typedFilters } from './query-tokens.js';

describe('filters in a search box', () => {
  it.each(FACET_NAMES)('reads %s:VALUE, in any case and between words', (name) => {
    const value = (FACETS[name] as { values?: readonly string[] }).values?.[0] ?? 'some-value';
    const expected = { text: 'set labels', filters: { [name]: [value] } };
    expect(typedFilters(`set ${name}:${value} labels`)).toEqual(expected);
    expect(typedFilters(`set labels ${name.toUpperCase()}:"${value}"`)).toEqual(expected);
  });

  it('leaves values that a facet does not have, and values that are too long, as text', () => {
    expect(typedFilters('runtime:perl pinned:maybe')).toBeUndefined();
    const longest = (name: FacetName) => FACETS[name].maxLength;
    expect(typedFilters(`tag:${'a'.repeat(longest('tag') + 1)}`)).toBeUndefined();
    expect(typedFilters(`signedBy:${'a'.repeat(longest('signedBy'))}`)?.filters.signedBy).toHaveLength(1);
  });
});
