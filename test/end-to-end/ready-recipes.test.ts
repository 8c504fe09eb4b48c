import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { readRecipe } from '@krmhub/catalog';
import { readyRecipes } from '@krmhub/sources/ready-recipes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestRepositories } from '../../packages/sources/src/testing/repositories.js';
import { krmhubHere } from '../run-here.js';
import { root, sharedData } from '../running.js';

/** The recipes in `examples/catalogs`, with servers of this machine in place of the upstream ones. */

const repositories = new TestRepositories();
const REAL = path.join(sharedData, 'kpt-metadata/google-2023');
/** An item with the fields that the catalog of krm-functions has. */
const LIST = {
  version: '1',
  functions: ['set-labels', 'render-helm-chart'].map((name) => ({
    description: `Do what ${name} says`,
    documentation: `https://github.com/krm-functions/catalog/blob/main/docs/${name}.md`,
    image: `ghcr.io/krm-functions/${name}`,
    digest: `sha256:${name.length.toString(16).padStart(2, '0').repeat(32)}`,
    builder: 'https://github.com/krm-functions/catalog/.github/workflows/build.yaml',
  })),
};
let list: Server;

beforeAll(async () => {
  await repositories.start();
  list = createServer((_, response) => response.end(JSON.stringify(LIST)));
  await new Promise<void>((resolve) => list.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  list.close();
  await repositories.stop();
});

function addFunction(folder: string, image: string, tag: string): void {
  mkdirSync(path.join(repositories.work, folder), { recursive: true });
  repositories.write(
    `${folder}/metadata.yaml`,
    `image: ${image}
description: Does what its name says.
tags: [mutator]
sourceURL: https://github.com/kptdev/krm-functions-catalog/tree/main/${folder}
license: Apache-2.0
`,
  );
  repositories.commit(folder);
  repositories.git('tag', `${folder}/${tag}`);
}

interface Entry {
  group: string;
  names: { kind: string };
  versions: { license: string; runtime: { container: { image: string; sha256?: string } } }[];
}

/** Builds a recipe with another URL, and returns its entries: name, image, digest, and license. */
async function build(name: string, upstream: string, local: string): Promise<string[]> {
  const { text } = readyRecipes().find((one) => one.name === name)!;
  expect(text).toContain(`url: ${upstream}\n`);
  writeFileSync(path.join(repositories.folder, 'recipe.yaml'), text.replace(upstream, local));
  const args = ['catalog', 'build', 'recipe.yaml', '--out', 'catalog.json', '--format', 'json'];
  const ended = await krmhubHere(args, { cwd: repositories.folder });
  expect(ended.code, ended.stderr).toBe(0);
  const { spec } = JSON.parse(readFileSync(path.join(repositories.folder, 'catalog.json'), 'utf8'));
  return (spec.krmFunctions as Entry[]).map(({ group, names, versions: [version] }) => {
    const { image, sha256 = 'no digest' } = version!.runtime.container;
    return `${group}/${names.kind} ${image} ${sha256} ${version!.license}`;
  });
}
const KPT = 'git::https://github.com/kptdev/krm-functions-catalog.git';

describe('recipes of krmhub', () => {
  it('are valid, have their name and a summary, and are listed', async () => {
    const recipes = readyRecipes();
    expect(recipes.map(({ name }) => `${name}.yaml`)).toEqual(
      readdirSync(path.join(root, 'examples/catalogs')).sort(),
    );
    for (const { name, summary, text } of recipes) {
      const { recipe, diagnostics } = readRecipe(Buffer.from(text), `${name}.yaml`);
      expect([recipe?.name, diagnostics]).toEqual([name, []]);
      expect(summary).toMatch(/^The .*\.$/);
      expect(text).toContain('# Imported: ');
    }
    const listed = await krmhubHere(['catalog', 'apply', '--example'], { cwd: repositories.folder });
    expect(listed.stdout).toBe(recipes.map(({ name, summary }) => `${name}\t${summary}\n`).join(''));
  });

  it('import kpt functions at their newest tags, with the registry that has their images', async () => {
    addFunction('functions/go/set-namespace', 'gcr.io/kpt-fn/set-namespace', 'v0.4.0');
    addFunction('functions/go/starlark', 'gcr.io/kpt-fn/starlark', 'v0.5.0');
    addFunction('functions/go/fix', 'gcr.io/kpt-fn/fix', 'v0.2.0');
    addFunction('contrib/functions/ts/sops', 'gcr.io/kpt-fn-contrib/sops', 'v0.3.0');
    repositories.git('tag', 'functions/go/set-namespace/v0.4.5');
    repositories.git('mv', 'functions/go/fix', 'archived');
    repositories.commit('archive fix');
    repositories.publish('kpt.git');
    const images = 'ghcr.io/kptdev/krm-functions-catalog';
    expect(await build('kpt-functions', KPT, `git::${repositories.server.origin}/kpt.git`)).toEqual([
      `fn.kpt.dev/SetNamespace ${images}/set-namespace:v0.4.5 no digest Apache-2.0`,
      `fn.kpt.dev/Sops ${images}/krm-fn-contrib/sops:v0.3.0 no digest Apache-2.0`,
      `fn.kpt.dev/StarlarkRun ${images}/starlark:v0.5.0 no digest Apache-2.0`,
    ]);
  });

  it('import krm-functions with their digests', async () => {
    const local = `http://127.0.0.1:${(list.address() as AddressInfo).port}/catalog.json`;
    const url = 'https://raw.githubusercontent.com/krm-functions/catalog/main/catalog.json';
    expect(await build('krm-functions', url, local)).toEqual([
      `fn.kpt.dev/RenderHelmChart ghcr.io/krm-functions/render-helm-chart ${'11'.repeat(32)} LicenseRef-unknown`,
      `fn.kpt.dev/SetLabels ghcr.io/krm-functions/set-labels ${'0a'.repeat(32)} LicenseRef-unknown`,
    ]);
  });

  it.skipIf(!existsSync(REAL))(
    'import every kpt function of 2023 with the kind of its functionConfigs (only if shared/data exists)',
    async () => {
      cpSync(REAL, repositories.work, { recursive: true });
      repositories.commit('real');
      const folders = readdirSync(REAL, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('metadata.yaml'))
        .map((file) => path.dirname(file));
      for (const folder of folders) repositories.git('tag', '-f', `${folder}/v1.0.0`);
      repositories.publish('real.git');
      const entries = await build('kpt-functions', KPT, `git::${repositories.server.origin}/real.git`);
      expect(entries.length).toBeGreaterThanOrEqual(28);
      const typed = [
        'ApplyReplacements',
        'ApplySetters',
        'RenderHelmChart',
        'SearchReplace',
        'SetAnnotations',
      ];
      for (const kind of [
        ...typed,
        'SetImage',
        'SetLabels',
        'SetNamespace',
        'StarlarkRun',
        'UpsertResource',
      ]) {
        expect(entries.filter((one) => one.startsWith(`fn.kpt.dev/${kind} ghcr.io/kptdev/`))).toHaveLength(1);
      }
      expect(entries.filter((one) => !/ ghcr\.io\/kptdev\/krm-functions-catalog\//.test(one))).toEqual([]);
    },
  );
});
