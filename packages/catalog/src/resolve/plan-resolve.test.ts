import { describe, expect, it } from 'vitest';
import { functionDefinition, functionVersion } from '../testing/records.js';
import { type CatalogAnswer, planResolve, type SearchedCatalog } from './plan-resolve.js';

const request = { apiVersion: 'example.com/v1', kind: 'SetLabels' };
const entry = (publisher: string, ...versions: string[]) =>
  functionDefinition({ publisher, versions: versions.map((name) => functionVersion(name)) });
const having = (...entries: ReturnType<typeof entry>[]): CatalogAnswer => ({ type: 'entries', entries });
const catalog = (reference: string, answer?: CatalogAnswer): SearchedCatalog => ({
  reference,
  ...(answer === undefined ? {} : { answer }),
});
const nothing = having();
const down: CatalogAnswer = { type: 'unavailable', reason: 'connection refused' };

describe('planResolve', () => {
  it('reads the catalogs one after the other, until one has the function', () => {
    expect(planResolve(request, [catalog('a'), catalog('b')])).toEqual({ type: 'read', index: 0 });
    expect(planResolve(request, [catalog('a', nothing), catalog('b')])).toEqual({ type: 'read', index: 1 });
    const found = entry('b', 'v1');
    expect(planResolve(request, [catalog('a', nothing), catalog('b', having(found)), catalog('c')])).toEqual({
      type: 'found',
      index: 1,
      definition: found,
      version: found.versions[0],
    });
  });

  it('takes the first catalog, and in it the first entry, that have the API version', () => {
    const other = entry('first', 'v2');
    const first = entry('second', 'v1beta1', 'v1');
    const plan = planResolve(request, [
      catalog('a', having(other, first, entry('third', 'v1'))),
      catalog('b'),
    ]);
    expect(plan).toMatchObject({ type: 'found', index: 0, definition: { publisher: 'second' } });
    const later = planResolve(request, [catalog('a', having(other)), catalog('b', having(entry('b', 'v1')))]);
    expect(later).toMatchObject({ type: 'found', index: 1, definition: { publisher: 'b' } });
  });

  it('fails for a catalog that is needed and unavailable, and only for that', () => {
    const found = having(entry('a', 'v1'));
    expect(planResolve(request, [catalog('a', found), catalog('b', down)])).toMatchObject({ type: 'found' });
    expect(planResolve(request, [catalog('a', down), catalog('b', found)])).toEqual({
      type: 'unavailable',
      index: 0,
      reason: 'connection refused',
    });
  });

  it.each([
    ['another group', { group: 'other.example.com' }],
    ['another kind', { names: { kind: 'SetNames' } }],
    ['a kind in another case', { names: { kind: 'setlabels' } }],
  ])('does not take an entry of %s that a catalog gives for it', (_, different) => {
    const wrong = { ...entry('a', 'v1'), ...different };
    expect(planResolve(request, [catalog('a', having(wrong))])).toMatchObject({ type: 'unresolved' });
  });

  it('says what was searched, and which names are near', () => {
    const answer: CatalogAnswer = {
      type: 'entries',
      entries: [entry('a', 'v2', 'v1beta1')],
      near: [
        { group: 'example.com', kind: 'SetLabel', versions: ['v1alpha1', 'v1'] },
        { group: 'other.io', kind: 'SetLabels', versions: ['v3'] },
        { group: 'other.io', kind: 'Unrelated', versions: ['v1'] },
      ],
    };
    expect(planResolve(request, [catalog('a', answer), catalog('b', nothing)])).toEqual({
      type: 'unresolved',
      searched: ['a', 'b'],
      near: [
        'example.com/v2 SetLabels',
        'example.com/v1beta1 SetLabels',
        'example.com/v1 SetLabel',
        'other.io/v3 SetLabels',
      ],
    });
    expect(planResolve(request, [])).toEqual({ type: 'unresolved', searched: [], near: [] });
  });

  it('finds no function in the core group', () => {
    const plan = planResolve({ apiVersion: 'v1', kind: 'ConfigMap' }, [catalog('a', nothing)]);
    expect(plan).toEqual({ type: 'unresolved', searched: ['a'], near: [] });
  });
});
