import { describe, expect, it } from 'vitest';
import { describeNearFunctions, nearFunctions } from './near-functions.js';

const name = (text: string) => {
  const [group = '', kind = ''] = text.split('/');
  return { group, kind };
};
const near = (wanted: string, ...known: string[]) =>
  nearFunctions(name(wanted), known.map(name)).map(({ group, kind }) => `${group}/${kind}`);

describe('nearFunctions', () => {
  it('finds the same kind in other groups, misspelled groups first', () => {
    expect(
      near('example.com/SetLabels', 'other.io/SetLabels', 'exampel.com/SetLabels', 'a.b/SetNames'),
    ).toEqual(['exampel.com/SetLabels', 'other.io/SetLabels']);
  });

  it('finds kinds that differ in case or in a few letters, the nearest first', () => {
    expect(near('a.b/SetLabels', 'a.b/SetLable', 'a.b/setlabels', 'a.b/SetLabel', 'a.b/GetLabels')).toEqual([
      'a.b/setlabels',
      'a.b/GetLabels',
      'a.b/SetLabel',
      'a.b/SetLable',
    ]);
  });

  it('takes short kinds for near only by one letter', () => {
    expect(near('a.b/App', 'a.b/Map', 'a.b/Apps', 'a.b/Foo')).toEqual(['a.b/Apps']);
  });

  it('returns at most five, the nearest, whatever a catalog has', () => {
    const similar = Array.from({ length: 10_000 }, (_, at) => `g${at}.example.com/SetLabels`);
    const found = near('g9999.example.com/SetLabels', ...similar.reverse());
    expect(found).toHaveLength(5);
    expect(found[0]).toBe('g9999.example.com/SetLabels');
    expect(near(`a.b/${'x'.repeat(100_000)}`, `a.b/${'x'.repeat(99_999)}`)).toEqual([]);
  });
});

describe('describeNearFunctions', () => {
  it('names other API versions of the function, then of others the one that was meant or the best', () => {
    const wanted = { ...name('a.b/SetLabels'), version: 'v1' };
    expect(
      describeNearFunctions(wanted, [
        { ...name('c.d/SetLabels'), versions: ['v1alpha1', 'v2'] },
        { ...name('a.b/SetLabel'), versions: ['v2', 'v1'] },
        { ...name('a.b/SetLabels'), versions: ['v1beta1', 'v2'] },
        { ...name('a.b/SetLabels'), versions: ['v1beta1', 'v2'] },
        { ...name('e.f/SetLabels'), versions: [] },
      ]),
    ).toEqual([
      'a.b/v2 SetLabels',
      'a.b/v1beta1 SetLabels',
      'a.b/v1 SetLabel',
      'c.d/v2 SetLabels',
      'e.f/SetLabels',
    ]);
  });
});
