import { describe, expect, it } from 'vitest';
import { findCycles, forbiddenImports, importedFile, importsOf, moduleOf } from './imports.js';

describe('importsOf', () => {
  it('finds static, type-only, and dynamic imports, and re-exports', () => {
    expect(
      importsOf(
        "import a from 'a';\nimport type { B } from './b.js';\nexport * from './c.js';\nconst d = await import('d');\nimport 'e';\ntype F = import('./f.js').F;",
      ),
    ).toEqual(['a', './b.js', './c.js', 'd', 'e', './f.js']);
  });

  it('finds the file of a specifier', () => {
    const files = new Set(['apps/x/src/web/page.tsx', 'apps/x/src/log.ts']);
    expect(importedFile('apps/x/src/web/one.ts', '../log.js', files)).toBe('apps/x/src/log.ts');
    expect(importedFile('apps/x/src/web/one.ts', './page.js', files)).toBe('apps/x/src/web/page.tsx');
    expect(importedFile('apps/x/src/web/one.ts', './other.js', files)).toBeUndefined();
  });
});

describe('forbiddenImports', () => {
  const allowed = { schema: [], catalog: ['schema'], registry: ['schema', 'catalog'] };

  it('allows imports that the table lists, and imports within a name', () => {
    const imports = [
      { file: 'registry/a.ts', from: 'registry', to: 'catalog' },
      { file: 'catalog/a.ts', from: 'catalog', to: 'catalog' },
    ];
    expect(forbiddenImports(imports, allowed)).toEqual([]);
  });

  it('reports imports that the table does not list', () => {
    const imports = [
      { file: 'schema/a.ts', from: 'schema', to: 'catalog' },
      { file: 'catalog/a.ts', from: 'catalog', to: 'schema' },
      { file: 'catalog/b.ts', from: 'catalog', to: 'registry' },
    ];
    expect(forbiddenImports(imports, allowed)).toEqual([
      'schema/a.ts: schema must not import catalog',
      'catalog/b.ts: catalog must not import registry',
    ]);
  });

  it('reports every import of a name that is not in the table', () => {
    const imports = [{ file: 'new/a.ts', from: 'new', to: 'schema' }];
    expect(forbiddenImports(imports, allowed)).toEqual(['new/a.ts: new must not import schema']);
  });
});

describe('moduleOf', () => {
  it('returns the folder below src, or the name of a file in src', () => {
    expect(moduleOf('apps/registry/src/web/search/facets.tsx')).toBe('web');
    expect(moduleOf('apps/registry/src/main.ts')).toBe('main');
  });
});

describe('findCycles', () => {
  it('finds none where imports lead down only', () => {
    const graph = new Map([
      ['a.ts', ['b.ts', 'c.ts']],
      ['b.ts', ['c.ts']],
      ['c.ts', []],
    ]);
    expect(findCycles(graph)).toEqual([]);
  });

  it('lists the files of a cycle', () => {
    const graph = new Map([
      ['a.ts', ['b.ts']],
      ['b.ts', ['c.ts', 'd.ts']],
      ['c.ts', ['a.ts']],
      ['d.ts', ['b.ts']],
      ['e.ts', ['a.ts']],
    ]);
    expect(findCycles(graph)).toEqual(['a.ts → b.ts → c.ts → a.ts', 'b.ts → d.ts → b.ts']);
  });

  it('reports a file that imports itself', () => {
    expect(findCycles(new Map([['a.ts', ['a.ts']]]))).toEqual(['a.ts → a.ts']);
  });
});
