import { formatSearch, namedThing, parseSearch } from '@krmhub/api/search-syntax';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { foldCase, kindText, splitName, textQuery } from './text.js';

describe('splitName', () => {
  it.each([
    ['SetLabels', ['Set', 'Labels']],
    ['HTTPRoute', ['HTTP', 'Route']],
    ['HTTPRouteV2', ['HTTP', 'Route', 'V2']],
    ['ConvertXMLToJSON', ['Convert', 'XML', 'To', 'JSON']],
    ['kubeval', ['kubeval']],
    ['labels', ['labels']],
    ['IAM', ['IAM']],
    ['ÄndereÖl', ['Ändere', 'Öl']],
    ['漢字', ['漢字']],
  ])('splits %s', (name, words) => {
    expect(splitName(name)).toEqual(words);
  });

  it('keeps every character', () => {
    for (const name of ['S3Bucket', 'K8sThing', 'aB1C22dEF', 'x1y2', 'ABCdef9Z']) {
      expect(splitName(name).join('')).toBe(name);
    }
  });
});

it('indexes a kind by its words, and by these joined', () => {
  expect(kindText('SetNodeLabels')).toBe('SetNodeLabels NodeLabels Set Node Labels');
  expect(kindText('set-node-labels')).toBe('setnodelabels nodelabels set node labels');
  expect(kindText('Kubeval')).toBe('Kubeval');
  expect(kindText('')).toBe('');
});

it.each([
  ['GRÖSSE', 'größe', 'GRÖẞE', 'gro\u0308sse'],
  ['ΛΌΓΟΣ', 'λόγος', 'λόγοσ'],
  ['ﬁlter', 'Filter', 'FILTER'],
  ['ｋｕｂｅ', 'Kube'],
  ['ıstio', 'ISTIO', 'Istio'],
])('folds %s and what users write for it to one word', (...spellings) => {
  expect(new Set(spellings.map(foldCase)).size).toBe(1);
});

const queryOf = (text: string) => textQuery(parseSearch(text).terms);

describe('textQuery', () => {
  it('quotes every word', () => {
    const { begun, anywhere } = queryOf('ab" OR kind:b*')!;
    const { found, whole, start } = begun!;
    for (const expression of [found, whole, start, anywhere!])
      expect(expression).not.toMatch(/kind:|b\*[^"]*$/);
    expect(queryOf('NOT')).toEqual({
      begun: { found: '("not"*)', whole: '("not")', start: '^ "not"*', kinds: ['not'] },
      anywhere: '("not")',
    });
  });

  it('matches prefixes of the last word and of words with two letters', () => {
    expect(queryOf('x label')?.begun?.found).toBe('((("x") AND ("label"*)) OR "xlabel"*)');
    expect(queryOf('ex label')?.begun?.found).toBe('((("ex"*) AND ("label"*)) OR "exlabel"*)');
    expect(queryOf('x')?.begun?.found).toBe('("x"*)');
  });

  it('names a kind by its words, joined or with hyphens', () => {
    expect(queryOf('Set labels')?.begun?.kinds).toEqual(['setlabels', 'set-labels']);
  });

  it.each([
    ['labels', '"label"'],
    ['policies', '"policy"'],
    ['patches', '"patch"'],
  ])('matches the singular of %s', (plural, singular) => {
    expect(queryOf(plural)?.begun?.found).toContain(singular);
  });

  it('limits a word to the kind, or to fields, which have no beginnings', () => {
    expect(queryOf('kind:set label')?.anywhere).toBe(
      '((({kind} : ("set")) AND ("label")) OR ({kind} : "setlabel"))',
    );
    expect(queryOf('kind:set "a phrase"')?.anywhere).toBeUndefined();
    expect(queryOf('field:matchLabels set')).toEqual({
      anywhere: '({fields} : ("matchlabels" OR "matchlabel" OR ("match" AND "labels"))) AND ("set")',
    });
  });

  it('limits the length of the query', () => {
    expect(queryOf('ab '.repeat(1_000))!.begun!.found.length).toBeLessThan(2_000);
    expect(queryOf('Ab'.repeat(1_000))!.begun!.found.length).toBeLessThan(2_000);
    expect(queryOf('  "*" ')).toBeUndefined();
  });
});

describe('a search text', () => {
  it('stays the same when it is written and read again, whatever it is', () => {
    const random = new Random(7);
    const parts = [
      'set',
      '"',
      '-',
      ':',
      'tag:',
      'kind:',
      'field:',
      'is:signed',
      'image:',
      'foo:',
      ' ',
      ' ',
      '\n',
      'é',
      '\ud800',
      '@',
      '/',
      '*',
      'pinned:TRUE',
      'sha256:',
    ];
    for (let count = 0; count < 20_000; count += 1) {
      const text = Array.from({ length: random.below(12) }, () => random.pick(parts)).join('');
      const expression = parseSearch(text);
      expect(parseSearch(formatSearch(expression)), JSON.stringify(text)).toEqual(expression);
      namedThing(expression);
      textQuery(expression.terms);
    }
  });
});
