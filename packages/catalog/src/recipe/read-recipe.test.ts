import { describe, expect, it } from 'vitest';
import { RECIPE_CODES } from './codes.js';
import { readRecipe } from './read-recipe.js';
import { DEFAULT_RECIPE_TEXT, RECIPE_LIMITS } from './recipe.js';

const encode = (text: string) => new TextEncoder().encode(text);
const read = (text: string) => readRecipe(encode(text), 'recipe.yaml');
const HEAD = 'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\n';

/** A recipe around the text of one source, which begins at line 6, column 5. */
function withSource(source: string): string {
  return `${HEAD}metadata: {name: platform}\nspec:\n  sources:\n  - ${source}\n`;
}

function withDefaults(defaults: string): string {
  return withSource(`{name: a, catalog: {url: "https://a.example/"}, defaults: {${defaults}}}`);
}

/** `code path line:column` of every diagnostic, in order. */
function problems(text: string): string[] {
  const { recipe, diagnostics } = read(text);
  expect(recipe === undefined).toBe(diagnostics.some(({ severity }) => severity === 'error'));
  return diagnostics.map(
    ({ code, path, range }) => `${code} ${path} ${range?.start.line}:${range?.start.column}`,
  );
}

describe('a recipe', () => {
  it('reports only the kind of another document', () => {
    expect(problems('apiVersion: apps/v1\nkind: Deployment\nstatus: {}\n')).toEqual([
      'recipe/document kind 2:7',
    ]);
  });

  it('is read completely', () => {
    const text = `${HEAD}metadata:
  name: platform
  labels: {author: ExampleCo, example.com/tier: "1"}
spec:
  sources:
  - name: ours
    functions: {release: ">=1.0.0, <2.0.0"}
    match: [{group: example.com, kind: SetLabels}, {tags: [mutator, labels]}]
    exclude: [{runtime: exec}, {license: apache 2.0, publisher: Example Co}]
  - name: rest
    functions: {}
`;
    expect(read(text)).toEqual({
      recipe: {
        name: 'platform',
        labels: { author: 'ExampleCo', 'example.com/tier': '1' },
        sources: [
          {
            name: 'ours',
            release: '>=1.0.0 <2.0.0',
            match: [{ group: 'example.com', kind: 'SetLabels' }, { tags: ['mutator', 'labels'] }],
            exclude: [{ runtime: 'exec' }, { license: 'Apache-2.0', publisher: 'Example Co' }],
          },
          { name: 'rest', exclude: [] },
        ],
      },
      diagnostics: [],
    });
  });

  it('can have defaults for missing fields of entries', () => {
    const text = withDefaults(
      'publisher: A Co, license: apache 2.0, schema: {openAPIV3Schema: {type: object}}, idempotent: true, usage: "https://a.example/docs", examples: ["https://a.example/e"], registry: registry.a.example/mirror',
    );
    expect(read(text)).toMatchObject({ diagnostics: [] });
    expect(read(text).recipe!.sources[0]!.catalog!.defaults).toEqual({
      publisher: 'A Co',
      license: 'Apache-2.0',
      schema: { openAPIV3Schema: { type: 'object' } },
      idempotent: true,
      usage: 'https://a.example/docs',
      examples: ['https://a.example/e'],
      registry: 'registry.a.example/mirror',
    });
    expect(read(withDefaults('')).recipe!.sources[0]!.catalog!.defaults).toEqual({});
  });

  it('of the built-in catalog selects all functions', () => {
    expect(read(DEFAULT_RECIPE_TEXT)).toEqual({
      recipe: { name: 'default', sources: [{ name: 'registry', exclude: [] }] },
      diagnostics: [],
    });
  });

  it('may be JSON', () => {
    const recipe = {
      apiVersion: 'krmhub.dev/v1alpha1',
      kind: 'CatalogRecipe',
      metadata: { name: 'a' },
      spec: { sources: [{ name: 'b', functions: {} }] },
    };
    expect(read(JSON.stringify(recipe)).recipe).toEqual({ name: 'a', sources: [{ name: 'b', exclude: [] }] });
  });
});

describe('an invalid recipe', () => {
  it('has all problems reported at once, with positions and fixes', () => {
    const text = `apiVersion: krmhub.dev/v1
kind: CatalogRecipe
metadata: {name: Not A Name, label: {}}
spec:
  source: []
  sources:
  - name: ours
    functions: {release: "!=1.2.0"}
    matches: [{group: example.com}]
    match: [{}]
  - name: ours
    functions: {release: 1.2}
`;
    expect(problems(text)).toEqual([
      'recipe/document apiVersion 1:13',
      'recipe/name metadata.name 3:18',
      'recipe/unknown-field metadata.label 3:30',
      'recipe/unknown-field spec.source 5:3',
      'recipe/release-range spec.sources[0].functions.release 8:26',
      'recipe/unknown-field spec.sources[0].matches 9:5',
      'recipe/empty-selector spec.sources[0].match[0] 10:13',
      'recipe/duplicate-source spec.sources[1].name 11:11',
      'recipe/wrong-type spec.sources[1].functions.release 12:26',
    ]);
    const { diagnostics } = read(text);
    for (const { hint, code } of diagnostics) {
      expect(Object.keys(RECIPE_CODES)).toContain(code);
      expect(hint).toBeTruthy();
    }
    const hints = diagnostics.map(({ hint }) => hint).join('\n');
    for (const meant of ['`labels`', '`sources`', '`match`', '<1.4.0 || >1.4.0'])
      expect(hints).toContain(meant);
  });

  it.each([
    ['recipe/missing-field', withSource('{name: a, catalog: {refresh: 1h}}')],
    ['recipe/wrong-type', withSource('{name: a, catalog: }')],
    ['recipe/wrong-type', withSource('{name: a, catalog: https://example.com/catalog.yaml}')],
    ['recipe/unknown-field', withSource('{name: a, catalog: {url: "https://a.example/", release: "1"}}')],
    ['recipe/ambiguous-source', withSource('{name: a, functions: {}, catalog: {url: "https://a.example/"}}')],
    ['recipe/selector-license', withSource('{name: a, functions: {}, match: [{license: Proprietary}]}')],
    ['recipe/missing-field', `${HEAD}metadata: {name: a}\nspec: {sources: []}\n`],
    ['recipe/defaults', withSource('{name: a, functions: {}, defaults: {license: MIT}}')],
    ['recipe/defaults', withDefaults('usage: "javascript:alert(1)"')],
    ['recipe/defaults', withDefaults('examples: []')],
    ['recipe/defaults', withDefaults('examples: [here]')],
    ['recipe/defaults', withDefaults('registry: Not A Host')],
    ['recipe/defaults', withDefaults('registry: bare')],
    ['recipe/defaults', withDefaults('publisher: "a\\u202eb"')],
    ['recipe/defaults', withDefaults('schema: {openAPIV3Schema: {type: array}}')],
    ['recipe/license', withDefaults('license: Nobody 9')],
    ['recipe/wrong-type', withDefaults('idempotent: "yes"')],
    ['recipe/wrong-type', withDefaults('publisher: 1')],
    ['recipe/wrong-type', withDefaults('schema: {openAPIV3Schema: text}')],
    ['recipe/missing-field', withDefaults('schema: {}')],
    ['recipe/unknown-field', withDefaults('group: example.com')],
    ['recipe/missing-field', `${HEAD}metadata: {name: a}\nspec: {}\n`],
    ['recipe/missing-field', `${HEAD}metadata: {}\nspec: {sources: [{name: a, functions: {}}]}\n`],
    ['recipe/missing-field', withSource('{name: a}')],
    ['recipe/missing-field', withSource('{functions: {}}')],
    ['recipe/wrong-type', withSource('{name: a, functions: }')],
    ['recipe/wrong-type', withSource('{name: a, functions: [], match: [{group: example.com}]}')],
    ['recipe/wrong-type', withSource('{name: a, functions: {}, match: {group: example.com}}')],
    ['recipe/wrong-type', withSource('{name: a, functions: {}, match: [example.com]}')],
    ['recipe/wrong-type', withSource('{name: a, functions: {}, match: [{tags: mutator}]}')],
    ['recipe/wrong-type', withSource('{name: a, functions: {}, match: [{group: ""}]}')],
    ['recipe/wrong-type', withSource('{name: a, functions: {release: ""}}')],
    ['recipe/wrong-type', withSource('plain')],
    ['recipe/name', withSource('{name: "../x", functions: {}}')],
    ['recipe/name', withSource(`{name: ${'a'.repeat(64)}, functions: {}}`)],
    [
      'recipe/label',
      `${HEAD}metadata: {name: a, labels: {a b: c}}\nspec: {sources: [{name: a, functions: {}}]}\n`,
    ],
    [
      'recipe/label',
      `${HEAD}metadata: {name: a, labels: {a: "b\\nc"}}\nspec: {sources: [{name: a, functions: {}}]}\n`,
    ],
    [
      'recipe/label',
      `${HEAD}metadata: {name: a, labels: {a: 1}}\nspec: {sources: [{name: a, functions: {}}]}\n`,
    ],
    ['recipe/release-range', withSource('{name: a, functions: {release: "about 1"}}')],
    ['recipe/release-range', withSource('{name: a, functions: {release: ">=1,,<2"}}')],
    ['recipe/empty-selector', withSource('{name: a, functions: {}, match: []}')],
    ['recipe/empty-selector', withSource('{name: a, functions: {}, exclude: [{}]}')],
    ['recipe/empty-selector', withSource('{name: a, functions: {}, exclude: [{tags: []}]}')],
    ['recipe/selector-value', withSource('{name: a, functions: {}, match: [{group: nodots}]}')],
    ['recipe/selector-value', withSource('{name: a, functions: {}, match: [{kind: "Set Labels"}]}')],
    ['recipe/selector-value', withSource('{name: a, functions: {}, match: [{runtime: containers}]}')],
    ['recipe/unknown-field', withSource('{name: a, functions: {}, match: [{constructor: x}]}')],
    ['recipe/limit', `${withSource('{name: a, functions: {}}')}  description: ${'x'.repeat(501)}\n`],
    ['recipe/limit', withSource(`{name: a, functions: {release: "${'>=1.0.0 '.repeat(40)}"}}`)],
    [
      'recipe/limit',
      withSource(`{name: a, functions: {}, match: [{tags: [${'a, '.repeat(RECIPE_LIMITS.maxTags + 1)}]}]}`),
    ],
    ['recipe/document', `${DEFAULT_RECIPE_TEXT}---\n${DEFAULT_RECIPE_TEXT}`],
    ['recipe/document', DEFAULT_RECIPE_TEXT.replace('CatalogRecipe', 'Catalog')],
  ])('%s is told of %j', (code, text) => {
    expect(problems(text).map((problem) => problem.split(' ')[0])).toEqual([code]);
  });

  it.each([
    ['nothing', ''],
    ['a comment', '# nothing\n'],
    ['text', 'hello'],
    ['a list', '[]'],
    ['broken YAML', 'a: [b'],
    ['an alias bomb', `a: &a [1,1,1]\nb: &b [*a,*a,*a]\nc: [${'*b,'.repeat(200)}]\n`],
    ['deep nesting', `${'['.repeat(500)}${']'.repeat(500)}`],
    ['prototype keys', `${HEAD}__proto__: {metadata: {name: a}}\n`],
    ['a list of 40,000 sources', `${HEAD}metadata: {name: a}\nspec: {sources: [${'1, '.repeat(40_000)}]}\n`],
    [
      'thousands of unknown fields',
      `${HEAD}metadata: {name: a}\nspec: {sources: [{name: a, functions: {}, match: [${'{b: 1, c: 2, d: 3}, '.repeat(900)}]}]}\n`,
    ],
    ['a byte too many', ' '.repeat(RECIPE_LIMITS.maxBytes + 1)],
  ])('%s is refused and not thrown', (_, text) => {
    const { recipe, diagnostics } = read(text);
    expect(recipe).toBeUndefined();
    expect(diagnostics.length).toBeLessThanOrEqual(201);
    expect(diagnostics.some(({ severity }) => severity === 'error')).toBe(true);
    expect(diagnostics.every(({ file }) => file === 'recipe.yaml')).toBe(true);
  });

  it('rejects binary data', () => {
    expect(readRecipe(new Uint8Array([0xff, 0xfe, 0, 1]), 'x').recipe).toBeUndefined();
  });
});
