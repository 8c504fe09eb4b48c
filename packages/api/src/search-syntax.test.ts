import { FACET_NAMES, FACETS, type FacetName } from '@krmhub/schema/facets';
import { describe, expect, it } from 'vitest';
import { formatSearch, namedThing, parseSearch, SEARCH_SYNTAX } from './search-syntax.js';

const word = (text: string, more: object = {}) => ({
  text,
  isPhrase: false,
  isExcluded: false,
  ...more,
});
const filterNames = FACET_NAMES.filter((name) => name !== 'kind');

describe('a search text', () => {
  it.each(filterNames)('has filters as %s:VALUE, in any case and between words', (name) => {
    const value = (FACETS[name] as { values?: readonly string[] }).values?.[0] ?? 'some-value';
    const expected = { terms: [word('set'), word('labels')], filters: { [name]: [value] }, without: {} };
    expect(parseSearch(`set ${name}:${value} labels`)).toEqual(expected);
    expect(parseSearch(`set labels ${name.toUpperCase()}:"${value}"`)).toEqual(expected);
  });

  it('has words, phrases, words of the kind, and what to leave out', () => {
    expect(parseSearch('a "b  c" kind:D -e -"f g" -kind:h').terms).toEqual([
      word('a'),
      word('b c', { isPhrase: true }),
      word('D', { within: 'kind' }),
      word('e', { isExcluded: true }),
      word('f g', { isPhrase: true, isExcluded: true }),
      word('h', { within: 'kind', isExcluded: true }),
    ]);
    expect(parseSearch('is:signed -IS:deprecated -tag:x -pinned:true')).toEqual({
      terms: [],
      filters: { signed: ['true'], deprecated: ['false'], pinned: ['false'] },
      without: { tag: ['x'] },
    });
  });

  it('is text where it is no syntax', () => {
    expect(parseSearch('foo:bar is:new runtime:perl tag: - --').terms.map(({ text }) => text)).toEqual([
      'foo:bar',
      'is:new',
      'runtime:perl',
      'tag:',
    ]);
    expect(parseSearch('"not closed').terms).toEqual([word('not closed', { isPhrase: true })]);
    const longest = (name: FacetName) => FACETS[name].maxLength;
    expect(parseSearch(`tag:${'a'.repeat(longest('tag') + 1)}`).filters).toEqual({});
  });

  it.each([
    ['example.com/SetLabels', { name: { group: 'example.com', kind: 'SetLabels' } }],
    ['example.com/SetLabels@v1', { name: { group: 'example.com', kind: 'SetLabels', release: '1.0.0' } }],
    [`sha256:${'a'.repeat(64)}`, { digest: `sha256:${'a'.repeat(64)}` }],
    ['- image: "ghcr.io/a/b:v1"', { reference: 'ghcr.io/a/b:v1' }],
    ['image:ghcr.io/a -tag:x', { reference: 'ghcr.io/a' }],
    ['set labels', {}],
    ['', {}],
  ])('names a thing: %s', (text, expected) => {
    expect(namedThing(parseSearch(text))).toMatchObject(expected);
    if (Object.keys(expected).length === 0) expect(namedThing(parseSearch(text))).toEqual({});
  });

  it('ends within limits', () => {
    expect(parseSearch('a '.repeat(1e6)).terms.length).toBeLessThan(100);
    expect(parseSearch('"'.repeat(1e6)).terms).toEqual([]);
    expect(parseSearch('x'.repeat(1e6)).terms[0]!.text.length).toBeLessThan(1_000);
  });

  it('is explained by examples that it reads', () => {
    for (const [example] of SEARCH_SYNTAX)
      expect(formatSearch(parseSearch(example)).replace(':true', '').replace('signed', 'is:signed')).toBe(
        example,
      );
  });
});
