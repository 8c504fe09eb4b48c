import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import type { Draft } from '../dialects/draft.js';
import { createEntryCheck } from './entries.js';
import { runRules } from './rule.js';

function found(entries: [group: string, kind: string, ...versions: string[]][]): Diagnostic[][] {
  const check = createEntryCheck();
  return entries.map(([group, kind, ...versions], index) => {
    const draft: Draft = {
      file: '',
      spec: { group, names: { kind }, versions: versions.map((name) => ({ name })) },
      locate: (path) => ({ path: ['spec', 'krmFunctions', index, ...path] }),
    };
    return runRules([(entry, report) => check(entry, index, report)], draft, 'registry');
  });
}

describe('entries of one catalog', () => {
  it('rejects an API version of an earlier entry', () => {
    const [first, second] = found([
      ['a.example', 'SetLabels', 'v1', 'v1beta1'],
      ['a.example', 'SetLabels', 'v2', 'v1beta1'],
    ]);
    expect(first).toEqual([]);
    expect(second).toMatchObject([
      {
        code: 'catalog/duplicate-version',
        severity: 'warning',
        path: 'spec.krmFunctions[1].versions[1].name',
        message: 'v1beta1 of "a.example/SetLabels" is already in entry 0; the first one wins',
      },
    ]);
  });

  it('rejects kinds of one group that differ in case', () => {
    const [, second] = found([
      ['a.example', 'SetLabels', 'v1'],
      ['a.example', 'Setlabels', 'v1'],
    ]);
    expect(second).toMatchObject([
      { code: 'catalog/kind-case', severity: 'error', path: 'spec.krmFunctions[1].names.kind' },
    ]);
  });

  it('allows the same kind in other groups, and a function in several entries', () => {
    const diagnostics = found([
      ['a.example', 'SetLabels', 'v1'],
      ['b.example', 'setlabels', 'v1'],
      ['a.example', 'SetLabels', 'v2'],
      ['a.example', 'SetLabels2', 'v1'],
    ]);
    expect(diagnostics.flat()).toEqual([]);
  });
});
