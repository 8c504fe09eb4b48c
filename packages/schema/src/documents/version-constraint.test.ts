import { describe, expect, it } from 'vitest';
import { newestTag, parseConstraint, parseVersion } from './version-constraint.js';

const TAGS = [
  'v0',
  'v0.1',
  'v0.1.1',
  'v0.1.2',
  'v0.2',
  'v0.2.1',
  'v0.2.3',
  'v1.0.0-rc.1',
  'v1.0.0',
  '1.2.3',
  'v2',
];
const matching = (constraint: string) => TAGS.filter((tag) => parseConstraint(constraint)!.matches(tag));

describe('a version constraint', () => {
  it.each<[string, string[]]>([
    ['~0.1', ['v0.1', 'v0.1.1', 'v0.1.2']],
    ['~0.1.1', ['v0.1.1', 'v0.1.2']],
    ['~> 1', ['v1.0.0', '1.2.3']],
    ['0.2 - 0.2.2', ['v0.2', 'v0.2.1']],
    ['>=0.1.0 <1.0.0', ['v0.1', 'v0.1.1', 'v0.1.2', 'v0.2', 'v0.2.1', 'v0.2.3']],
    ['>= 0.2.1, < 1', ['v0.2.1', 'v0.2.3']],
    ['0.1.x', ['v0.1', 'v0.1.1', 'v0.1.2']],
    ['=0.2', ['v0.2', 'v0.2.1', 'v0.2.3']],
    ['!=0.x', ['v1.0.0', '1.2.3', 'v2']],
    ['!=0.1.1 <0.2', ['v0', 'v0.1', 'v0.1.2']],
    ['>0.1', ['v0.2', 'v0.2.1', 'v0.2.3', 'v1.0.0', '1.2.3', 'v2']],
    ['>1', ['v2']],
    ['<=0.1', ['v0', 'v0.1', 'v0.1.1', 'v0.1.2']],
    ['<=1', ['v0', 'v0.1', 'v0.1.1', 'v0.1.2', 'v0.2', 'v0.2.1', 'v0.2.3', 'v1.0.0', '1.2.3']],
    ['^0.1.1', ['v0.1.1', 'v0.1.2']],
    ['^0.2', ['v0.2', 'v0.2.1', 'v0.2.3']],
    ['^0', ['v0', 'v0.1', 'v0.1.1', 'v0.1.2', 'v0.2', 'v0.2.1', 'v0.2.3']],
    ['^1.0', ['v1.0.0', '1.2.3']],
    ['^0.0.3', []],
    ['0.1.1 || ^2', ['v0.1.1', 'v2']],
    ['*', TAGS.filter((tag) => !tag.includes('rc'))],
    ['>=1.0.0-rc.0 <1.1', ['v1.0.0-rc.1', 'v1.0.0']],
    ['=<0.1 =>0.1', ['v0.1', 'v0.1.1', 'v0.1.2']],
  ])('%s matches what Masterminds/semver matches', (constraint, expected) => {
    expect(matching(constraint)).toEqual(expected);
  });

  it.each([
    '',
    ' ',
    '>>0.1',
    'latest',
    'a.b',
    '1.2.3.4',
    '>= ',
    '0.1 ||',
    '|| 1',
    '1,,2',
    `>${'1'.repeat(300)}`,
  ])('%j is none', (text) => expect(parseConstraint(text)).toBeUndefined());

  it('does not match what is not a version', () => {
    for (const tag of ['latest', '38f885f', 'sha256-59a5.sbom', '1.2.3.4', '']) {
      expect(parseConstraint('*')!.matches(tag)).toBe(false);
    }
    expect(parseVersion('v1.2')?.version).toBe('1.2.0');
  });
});

describe('the newest tag of a constraint', () => {
  it('ignores tags of builds and digests', () => {
    const tags = ['v0.1', 'latest', `sha256-${'a'.repeat(64)}.sig`, 'v0.10', 'v0.9', '1-git-2', '38f885f'];
    expect(newestTag(tags, '*')).toBe('v0.10');
    expect(newestTag(tags, '~0.3')).toBeUndefined();
  });
});
