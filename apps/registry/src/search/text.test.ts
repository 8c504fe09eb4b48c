import { describe, expect, it } from 'vitest';
import { kindText, splitName, textQuery } from './text.js';

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
  expect(kindText('Kubeval')).toBe('Kubeval');
  expect(kindText('')).toBe('');
});

describe('textQuery', () => {
  it('quotes every word', () => {
    expect(textQuery('a" OR kind:b*')?.match).not.toMatch(/kind:|b\*[^"]*$/);
    expect(textQuery('NOT')?.match).toBe('("not" OR "not"*)');
  });

  it('matches prefixes of the last word and of words with two letters', () => {
    expect(textQuery('x label')?.match).toBe('(("x") AND ("label" OR "label"*)) OR "xlabel"*');
    expect(textQuery('x')?.match).toBe('("x" OR "x"*)');
  });

  it.each([
    ['labels', '"label"'],
    ['policies', '"policy"'],
    ['patches', '"patch"'],
  ])('matches the singular of %s', (plural, singular) => {
    expect(textQuery(plural)?.match).toContain(singular);
  });

  it('limits the length of the query', () => {
    expect(textQuery('ab '.repeat(1_000))!.match.length).toBeLessThan(2_000);
    expect(textQuery('Ab'.repeat(1_000))!.match.length).toBeLessThan(2_000);
    expect(textQuery('  "*" ')).toBeUndefined();
  });
});
