import { describe, expect, it } from 'vitest';
import { findCircles, forbiddenImports, importedFile, importsOf, roomOf } from './imports.js';

describe('importsOf', () => {
  it('reads imports of values, types and everything, and those that come late', () => {
    expect(
      importsOf(
        "import a from 'a';\nimport type { B } from './b.js';\nexport * from './c.js';\nconst d = await import('d');\nimport 'e';\ntype F = import('./f.js').F;",
      ),
    ).toEqual(['a', './b.js', './c.js', 'd', 'e', './f.js']);
  });

  it('finds the file of a specifier', () => {
    const files = new Set(['apps/x/src/room/page.tsx', 'apps/x/src/log.ts']);
    expect(importedFile('apps/x/src/room/one.ts', '../log.js', files)).toBe('apps/x/src/log.ts');
    expect(importedFile('apps/x/src/room/one.ts', './page.js', files)).toBe('apps/x/src/room/page.tsx');
    expect(importedFile('apps/x/src/room/one.ts', './other.js', files)).toBeUndefined();
  });
});

describe('a floor or a room', () => {
  const allowed = { schema: [], catalog: ['schema'], registry: ['schema', 'catalog'] };

  it('may import what the table allows, and itself', () => {
    const imports = [
      { file: 'registry/a.ts', from: 'registry', to: 'catalog' },
      { file: 'catalog/a.ts', from: 'catalog', to: 'catalog' },
    ];
    expect(forbiddenImports(imports, allowed)).toEqual([]);
  });

  it('must not import a higher one, nor one beside it that the table does not allow', () => {
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

  it('that the table does not have may import nothing', () => {
    const imports = [{ file: 'new/a.ts', from: 'new', to: 'schema' }];
    expect(forbiddenImports(imports, allowed)).toEqual(['new/a.ts: new must not import schema']);
  });

  it('is the folder below src, or the file beside the folders', () => {
    expect(roomOf('apps/registry/src/web/search/facets.tsx')).toBe('web');
    expect(roomOf('apps/registry/src/main.ts')).toBe('main');
  });
});

describe('a circle', () => {
  it('is not there where imports lead down only', () => {
    const graph = new Map([
      ['a.ts', ['b.ts', 'c.ts']],
      ['b.ts', ['c.ts']],
      ['c.ts', []],
    ]);
    expect(findCircles(graph)).toEqual([]);
  });

  it('is named by its files', () => {
    const graph = new Map([
      ['a.ts', ['b.ts']],
      ['b.ts', ['c.ts', 'd.ts']],
      ['c.ts', ['a.ts']],
      ['d.ts', ['b.ts']],
      ['e.ts', ['a.ts']],
    ]);
    expect(findCircles(graph)).toEqual(['a.ts → b.ts → c.ts → a.ts', 'b.ts → d.ts → b.ts']);
  });

  it('of a file with itself is one', () => {
    expect(findCircles(new Map([['a.ts', ['a.ts']]]))).toEqual(['a.ts → a.ts']);
  });
});
