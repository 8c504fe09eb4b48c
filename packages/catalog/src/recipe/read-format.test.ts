import { describe, expect, it } from 'vitest';
import { readRecipe } from './read-recipe.js';

const read = (catalog: string) =>
  readRecipe(
    new TextEncoder().encode(
      `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: platform}
spec:
  sources:
  - name: vendor
    catalog: ${catalog}
`,
    ),
    'recipe.yaml',
  );
const GIT = 'git::https://git.example.com/fns.git';

describe('the format of a source', () => {
  it.each([
    [`{url: '${GIT}//functions', format: kpt-metadata}`, { format: 'kpt-metadata' }],
    [`{url: '${GIT}//functions/?ref=main', format: kep}`, { format: 'kep' }],
    [
      `{url: '${GIT}', format: krew, group: fn.example.com, releases: tags}`,
      { format: 'krew', group: 'fn.example.com', releases: 'tags' },
    ],
    [`{url: 'file:functions/', format: porch, releases: folders}`, { format: 'porch', releases: 'folders' }],
    ["{url: 'https://example.com/catalog.json', format: kpt-list}", { format: 'kpt-list' }],
  ])('is read from %s', (text, expected) => {
    const { recipe, diagnostics } = read(text);
    expect(diagnostics).toEqual([]);
    expect(recipe?.sources[0]?.catalog).toMatchObject(expected);
  });

  it.each([
    [`{url: '${GIT}//f', format: helm}`, 'format', 'unknown format "helm"'],
    [`{url: '${GIT}//f', format: krew, releases: branches}`, 'releases', 'unknown value "branches"'],
    [`{url: '${GIT}//f', format: krew, group: nodots}`, 'group', '"nodots" is not a valid group'],
    [`{url: '${GIT}//f', group: fn.example.com}`, 'group', '`group` does not apply to a catalog'],
    [
      `{url: '${GIT}//f', format: kep, group: fn.example.com}`,
      'group',
      '`group` does not apply to definitions and catalogs',
    ],
    [`{url: '${GIT}//f', releases: folders}`, 'releases', '`releases` does not apply to a catalog'],
    [
      `{url: '${GIT}//f?ref=main', format: krew, releases: tags}`,
      'releases',
      '`releases: tags` cannot be combined with a ref',
    ],
    [
      "{url: 'https://example.com/a', format: krew, releases: tags}",
      'releases',
      '`releases: tags` requires a git repository',
    ],
    [
      `{url: '${GIT}//f', format: krew, group: a.example.com, groups: {a.b: c.d}}`,
      'groups',
      '`groups` cannot be combined with `group`',
    ],
    [
      `{url: '${GIT}//f', format: krew, groups: {a.b: nodots}}`,
      'groups["a.b"]',
      '"nodots" is not a valid group',
    ],
    [`{url: '${GIT}//f', groups: {a.b: c.d}}`, 'groups', '`groups` does not apply to a catalog'],
    [`{url: '${GIT}//f', paths: [a]}`, 'paths', '`paths` does not apply to a catalog'],
    [`{url: '${GIT}//f', format: krew, paths: []}`, 'paths', '`paths` is empty'],
    [`{url: '${GIT}//f', format: krew, paths: [../a]}`, 'paths[0]', '"../a" is not a path in a folder'],
    [`{url: '${GIT}//f', format: krew, paths: [-o]}`, 'paths[0]', '"-o" is not a path in a folder'],
    [`{url: '${GIT}//'}`, 'url', 'the path of the catalog file in the repository is missing'],
    [`{url: '${GIT}//functions/'}`, 'url', 'the text after // is not a file path in a repository'],
    [`{url: '${GIT}//-o', format: krew}`, 'url', 'the text after // is not a file path in a repository'],
  ])('is refused in %s', (text, field, message) => {
    const { recipe, diagnostics } = read(text);
    expect(recipe).toBeUndefined();
    expect(diagnostics.map((one) => [one.path, one.message])).toEqual([
      [`spec.sources[0].catalog.${field}`, message],
    ]);
    expect(diagnostics[0]!.code).toBe(field === 'url' ? 'recipe/catalog-url' : 'recipe/format');
  });
});
