import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestRepositories } from '../../packages/sources/src/testing/repositories.js';
import { krmhubHere } from '../run-here.js';
import { sharedData } from '../running.js';

/**
 * A recipe for a repository with the shape of the public catalog of kpt functions: metadata without a release in folders
 * per language, examples and tests of many megabytes, and one release tag per function.
 */

const repositories = new TestRepositories();
const REAL = path.join(sharedData, 'kpt-metadata/google-2023');
const FUNCTIONS: [folder: string, image: string, tag: string][] = [
  ['functions/go/set-labels', 'gcr.io/kpt-fn/set-labels', 'functions/go/set-labels/v0.2.0'],
  ['functions/go/starlark', 'gcr.io/kpt-fn/starlark', 'functions/go/starlark/v0.4.3'],
  ['functions/ts/kubeval', 'gcr.io/kpt-fn/kubeval', 'functions/ts/kubeval/v0.3.0'],
  ['contrib/functions/ts/sops', 'gcr.io/kpt-fn-contrib/sops', 'contrib/functions/ts/sops/v0.3.0'],
];

function put(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(repositories.work, file)), { recursive: true });
  repositories.write(file, text);
}
const metadata = (image: string): string => `image: ${image}
description: Does what its name says.
tags: [mutator]
sourceURL: https://github.com/example-org/functions/tree/main/x
examplePackageURLs: [https://github.com/example-org/functions/tree/main/examples/x]
emails: [team@example.com]
license: Apache-2.0
`;
const LARGE = `text: "${'x'.repeat(950_000)}"\n`;

beforeAll(async () => {
  await repositories.start();
  for (const [folder, image, tag] of FUNCTIONS) {
    put(`${folder}/metadata.yaml`, metadata(image));
    put(`${folder}/testdata/deployment.yaml`, 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n');
    repositories.commit(folder);
    repositories.git('tag', tag);
  }
  // More than a catalog may have, in files that are none.
  for (let at = 0; at < 72; at++) put(`examples/large-${at}/resources.yaml`, `${LARGE}# ${at}\n`);
  repositories.commit('examples');
  repositories.git('rm', '--quiet', '-r', 'contrib/functions/ts/sops');
  repositories.commit('remove sops');
  repositories.publish('kpt.git');
});
afterAll(() => repositories.stop());

const run = (args: readonly string[]) => krmhubHere(args, { cwd: repositories.folder });

async function build(catalog: string) {
  writeFileSync(
    path.join(repositories.folder, 'recipe.yaml'),
    `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: kpt}
spec: {sources: [{name: kpt, catalog: {format: kpt-metadata, ${catalog}}}]}
`,
  );
  const ended = await run(['catalog', 'build', 'recipe.yaml', '--out', 'catalog.json', '--format', 'json']);
  const file = path.join(repositories.folder, 'catalog.json');
  const { spec } = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { spec: { krmFunctions: [] } };
  const functions = (spec.krmFunctions as Entry[]).map(
    ({ group, names, tags, versions }) =>
      `${group} ${names.kind} ${versions[0]!.runtime.container!.image}${tags?.includes('removed-upstream') ? ' removed' : ''}`,
  );
  return { ...ended, functions };
}
interface Entry {
  group: string;
  names: { kind: string };
  tags?: string[];
  versions: { runtime: { container?: { image: string } } }[];
}
const at = (rest = '') => `git::${repositories.server.origin}/kpt.git${rest}`;

describe('a recipe for a repository of kpt functions', () => {
  it('has every function at its own release with `releases: tags`, and marks those that were removed', async () => {
    const { code, stderr, functions } = await build(`url: '${at()}', releases: tags`);
    expect(code, stderr).toBe(0);
    expect(functions).toEqual([
      'fn.kpt.dev Kubeval gcr.io/kpt-fn/kubeval:v0.3.0',
      'fn.kpt.dev SetLabels gcr.io/kpt-fn/set-labels:v0.2.0',
      'fn.kpt.dev Sops gcr.io/kpt-fn-contrib/sops:v0.3.0 removed',
      'fn.kpt.dev StarlarkRun gcr.io/kpt-fn/starlark:v0.4.3',
    ]);
  });

  it('says what to write if a branch is not a release', async () => {
    for (const url of [at('?ref=main'), at('//functions?ref=main')]) {
      const { code, stderr } = await build(`url: '${url}'`);
      expect(code).toBe(0);
      expect(stderr).toContain('the catalog is empty: 3 entries of kpt are invalid; the first: ');
      expect(stderr).toContain('the release is unknown');
      expect(stderr).toContain('add `releases: tags` to the source');
      expect(stderr).not.toContain('selects no entry');
    }
  });

  it('takes the release from a tag in the URL, and from a commit with a tag', async () => {
    const set = 'fn.kpt.dev SetLabels gcr.io/kpt-fn/set-labels:v0.2.0';
    const tagged = await build(`url: '${at('//functions?ref=functions/go/set-labels/v0.2.0')}'`);
    expect(tagged.functions).toEqual([set]);
    const commit = repositories.git('rev-parse', 'functions/go/set-labels/v0.2.0^{commit}');
    expect((await build(`url: '${at(`//functions?ref=${commit}`)}'`)).functions).toEqual([set]);
  });

  it('reads listed folders, and replaces groups', async () => {
    const { stderr, functions } = await build(
      `url: '${at()}', releases: tags, paths: [functions/ts, contrib], groups: {fn.kpt.dev: fn.example.com}`,
    );
    expect(functions, stderr).toEqual([
      'fn.example.com Kubeval gcr.io/kpt-fn/kubeval:v0.3.0',
      'fn.example.com Sops gcr.io/kpt-fn-contrib/sops:v0.3.0 removed',
    ]);
  });

  it('says which files are too large, and how to read fewer', async () => {
    // Without metadata, every file may be one.
    const { code, stderr } = await build(`url: '${at('//examples?ref=main')}'`);
    expect(code).toBe(5);
    expect(stderr).toContain('the YAML and JSON files of "examples"');
    expect(stderr).toContain('are larger than 67108864 bytes');
    expect(stderr).toContain('list them in `paths`');
  });
});

describe.skipIf(!existsSync(REAL))('the real metadata (only if shared/data exists)', () => {
  it('is one function for each image, with the kinds of real functionConfigs', async () => {
    cpSync(REAL, repositories.work, { recursive: true });
    repositories.commit('real');
    const folders = readdirSync(REAL, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('metadata.yaml'))
      .map((file) => path.dirname(file));
    for (const [index, folder] of folders.entries()) repositories.git('tag', '-f', `${folder}/v1.0.${index}`);
    repositories.publish('real.git');
    const { code, stderr, functions } = await build(
      `url: 'git::${repositories.server.origin}/real.git', releases: tags`,
    );
    expect(code, stderr).toBe(0);
    expect(new Set(functions).size).toBe(functions.length);
    expect(functions.length).toBeGreaterThanOrEqual(29);
    expect(functions.filter((one) => /Starlark/.test(one))).toEqual([
      expect.stringMatching(/^fn\.kpt\.dev StarlarkRun .*\/starlark:v1\.0\.\d+$/),
    ]);
  });
});
