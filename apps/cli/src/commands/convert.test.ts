import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderProfile } from '@krmhub/catalog';
import { type FunctionDefinition, lint, PROFILES, readYaml } from '@krmhub/schema';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, type TestIoOptions, temporaryFolder } from '../testing/command-line.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const fixtures = path.join(root, 'test/fixtures/functions');
const shared = path.join(root, '../shared/data');

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const run = (args: readonly string[], options: TestIoOptions = {}) =>
  runTest(args, { cwd: folder, ...options });
const convert = (...args: string[]) => run(['convert', ...args]);
const read = (name: string) => readFile(path.join(folder, name), 'utf8');

async function put(name: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
  await writeFile(path.join(folder, name), text);
}

async function yamlFiles(name: string): Promise<string[]> {
  const names = await readdir(path.join(folder, name), { recursive: true });
  return names.filter((file) => file.endsWith('.yaml')).sort();
}

interface Parsed {
  kind: string;
  spec: { names: { kind: string }; versions: { runtime: { container: { image: string } } }[] };
}

function parseAll(text: string): Parsed[] {
  const { documents, diagnostics } = readYaml(new TextEncoder().encode(text), { file: 'printed' });
  expect(diagnostics).toEqual([]);
  return documents.map(({ value }) => value as unknown as Parsed);
}

function parse(text: string): Parsed {
  const documents = parseAll(text);
  expect(documents).toHaveLength(1);
  return documents[0]!;
}

const metadata = (name = 'set-labels') => `image: registry.example.com/fn/${name}
description: Set labels on resources.
tags: [mutator]
sourceURL: https://git.example.com/functions/${name}
examplePackageURLs: [https://git.example.com/examples/${name}]
emails: [team@example.com]
license: Apache-2.0
`;
const withoutImage = metadata().replace(/^image.*\n/, '');
const plugin = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata: {name: view-secret}
spec:
  version: v1.2.3
  homepage: https://github.com/example-org/tool
  shortDescription: Shows a secret
  platforms:
  - selector: {matchLabels: {os: linux, arch: amd64}}
    uri: https://example.com/a.tar.gz
    sha256: ${'ab'.repeat(32)}
    bin: tool
`;
const kustomization = 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n';

describe('convert', () => {
  it('names files after kind and release, in the spelling of the tag', async () => {
    await put('kpt/set-labels/v0.3/metadata.yaml', metadata());
    await put('kpt/set-labels/v0.4/metadata.yaml', metadata());
    await put('plugins/secret.yaml', plugin);
    const io = await convert('kpt', 'plugins', '--out', 'out');
    expect([io.exitCode, io.out()]).toEqual([0, '']);
    expect(await yamlFiles('out')).toEqual([
      'set-labels/0.3.0.yaml',
      'set-labels/0.4.0.yaml',
      'view-secret/1.2.3.yaml',
    ]);
    expect(io.err().trimEnd().split('\n').at(-1)).toBe('wrote 3 definitions to out');
    const { spec } = parse(await read('out/set-labels/0.3.0.yaml'));
    expect(spec.versions[0]!.runtime.container.image).toBe('registry.example.com/fn/set-labels:v0.3');
    const linted = await run(['lint', 'out', '--output', 'json']);
    expect(JSON.parse(linted.out())).toMatchObject({ files: 3, errors: 0 });
  });

  it('prints one document, or several with separators', async () => {
    await put('a.yaml', metadata());
    await put('b.yaml', metadata('set-owner'));
    const one = await convert('a.yaml', '--release', 'v1.0.0');
    expect(one.out()).toMatch(/^apiVersion: /);
    const two = await convert('a.yaml', 'b.yaml', '--release', 'v1.0.0');
    const documents = parseAll(two.out());
    expect(documents.map(({ spec }) => spec.names.kind)).toEqual(['SetLabels', 'SetOwner']);
    const typed = await run(['convert', '-', '--release', 'v1.0.0'], { stdin: metadata() });
    expect(typed.out()).toBe(one.out());
  });

  it('converts the others when one fails', async () => {
    await put('in/a.yaml', metadata());
    await put('in/b.yaml', withoutImage);
    await put('in/kustomization.yaml', kustomization);
    const io = await convert('in', '--release', 'v1.0.0', '--out', 'out');
    expect(io.exitCode).toBe(1);
    expect(await yamlFiles('out')).toEqual(['set-labels/1.0.0.yaml']);
    expect(io.err().match(/^error\[.*$/gm)).toEqual(['error[convert/no-image]: the metadata has no image']);
    expect(io.err()).toContain(' --> in/b.yaml\n');
    expect(io.err()).toContain('1 file of other kinds skipped\n');
    expect(io.err()).toMatch(/^wrote 1 definition to out; 1 file not converted$/m);
  });

  it('writes a definition with errors, and asks to fix it', async () => {
    await put('a.yaml', metadata().replace('license: Apache-2.0', 'license: Nobody 9'));
    const io = await convert('a.yaml', '--release', 'v1.0.0', '--out', 'out');
    expect(io.exitCode).toBe(1);
    expect(io.err()).toMatch(/^error\[license\/unknown\]/m);
    expect(io.err()).toMatch(/^wrote 1 definition to out; fix the errors in 1 file$/m);
    expect(await yamlFiles('out')).toEqual(['set-labels/1.0.0.yaml']);
  });

  it('groups warnings by code, with the first place of each', async () => {
    for (let index = 0; index < 10; index++) await put(`in/${index}.yaml`, metadata(`set-label${index}`));
    const io = await convert('in', '--release', 'v1.0.0', '--out', 'out');
    expect(io.exitCode).toBe(0);
    expect(io.err()).toMatch(
      /^warning: \d+ warnings in 10 files; list them with `krmhub lint out -o json`$/m,
    );
    expect(io.err().match(/^warning\[convert\/schema\]/gm)).toHaveLength(1);
    expect(io.err()).toMatch(/^ +--> in\/0\.yaml/m);
    expect(io.err()).toMatch(/^ += 9 more in 9 files: in\/1\.yaml.*, in\/4\.yaml.*, …$/m);
  });

  it('replaces no files, and lists all existing ones before it writes', async () => {
    for (const name of ['set-a', 'set-b', 'set-c']) await put(`in/${name}.yaml`, metadata(name));
    const again = (...more: string[]) => convert('in', '--release', 'v1.0.0', '--out', 'out', ...more);
    await again();
    const { mtimeMs } = await stat(path.join(folder, 'out/set-b/1.0.0.yaml'));
    expect((await again()).err()).toMatch(/^wrote 3 definitions to out, 3 files unchanged$/m);
    expect((await stat(path.join(folder, 'out/set-b/1.0.0.yaml'))).mtimeMs).toBe(mtimeMs);

    await rm(path.join(folder, 'out/set-a'), { recursive: true });
    await put('out/set-b/1.0.0.yaml', 'mine');
    await put('out/set-c/1.0.0.yaml', 'mine too');
    const refused = await again();
    expectEnd(
      refused,
      1,
      'error: cannot write existing files that differ: out/set-b/1.0.0.yaml, out/set-c/1.0.0.yaml',
    );
    expect(refused.err()).toContain('--overwrite');
    expect(await yamlFiles('out')).toEqual(['set-b/1.0.0.yaml', 'set-c/1.0.0.yaml']);
    expect(await read('out/set-b/1.0.0.yaml')).toBe('mine');
    expect((await again('--overwrite')).exitCode).toBe(0);
    expect(parse(await read('out/set-b/1.0.0.yaml')).spec.names.kind).toBe('SetB');
  });

  it('changes only the values of an existing definition that differ', async () => {
    await put('in/metadata.yaml', metadata());
    const again = (...more: string[]) => convert('in', '--release', 'v1.0.0', '--out', 'out', ...more);
    await again();
    const name = 'out/set-labels/1.0.0.yaml';
    const edited = `# License\n\n---\n# ours\n${await read(name)}`
      .replace(/description: (.*)/, (_, text) => `description:   '${text}' # short`)
      .replace(/kind: KRMFunctionDefinition\n/, (line) => `${line}\n# what it is\n`)
      .replaceAll('\n', '\r\n');
    await put(name, edited);
    expect((await again('--overwrite')).err()).toContain('1 file unchanged');
    await put('in/metadata.yaml', metadata().replace('Set labels', 'Put labels'));
    expect((await again('--overwrite')).exitCode).toBe(0);
    expect(await read(name)).toBe(edited.replace('Set labels', 'Put labels'));
    await put(name, JSON.stringify(parse(await read(name).then((text) => text.split('---')[1]!)), null, 4));
    await put('in/metadata.yaml', metadata());
    await again('--overwrite');
    const json = await read(name);
    expect(json.split('\n').at(1)).toMatch(/^ {4}"/);
    expect(JSON.parse(json).spec.description).toContain('Set labels');
  });

  it('writes the other files if two files conflict, and lists both with a fix', async () => {
    await put('in/a/metadata.yaml', metadata());
    await put('in/a/krm-fn-metadata.yaml', metadata().replace('Set labels', 'Put labels'));
    await put('in/b/metadata.yaml', metadata('set-owner'));
    const io = await convert('in', '--release', 'v1.0.0', '--out', 'out');
    expect(io.exitCode).toBe(1);
    expect(await yamlFiles('out')).toEqual(['set-owner/1.0.0.yaml']);
    expect(io.err()).toContain(
      'error[convert/clash]: set-labels/1.0.0.yaml: different definitions in in/a/krm-fn-metadata.yaml, in/a/metadata.yaml',
    );
    expect(io.err()).toContain('Convert only the file that you need');
    expect(io.err()).toMatch(/^wrote 1 definition to out; 2 files not converted$/m);
    const named = await convert('in/a/metadata.yaml', '--release', 'v1.0.0', '--out', 'out');
    expect(named.exitCode).toBe(0);
    const catalog = await convert('in', '--release', 'v1.0.0', '--to', 'catalog');
    expect(catalog.exitCode).toBe(1);
    expect(catalog.out()).toContain('kind: SetOwner');
    expect(catalog.out()).not.toContain('kind: SetLabels');
    expect(catalog.err()).toContain('fn.kpt.dev/SetLabels: different definitions in ');
  });

  it('converts identical copies once', async () => {
    await put('in/a/metadata.yaml', metadata());
    await put('in/a/krm-fn-metadata.yaml', metadata());
    for (const to of ['definition', 'catalog']) {
      const io = await convert('in', '--release', 'v1.0.0', '--out', `out-${to}`, '--to', to);
      expect([to, io.exitCode]).toEqual([to, 0]);
      expect(io.err()).toMatch(/^wrote 1 definition to out-/m);
    }
  });

  it('uses the group in file names if two groups have the same kind', async () => {
    for (const group of ['plum.example', 'pear.example']) {
      const options = ['--release', 'v1.0.0', '--group', group, '--out', `in-${group}`];
      await put('a.yaml', metadata());
      await convert('a.yaml', ...options);
    }
    const io = await convert('in-plum.example', 'in-pear.example', '--out', 'out');
    expect(io.exitCode).toBe(0);
    expect(await yamlFiles('out')).toEqual(['pear.example/set-labels.yaml', 'plum.example/set-labels.yaml']);
  });

  it('skips test configurations and chart values with an image', async () => {
    await put('in/metadata.yaml', metadata());
    await put('in/tests/config.yaml', 'image: a.example/set-labels\ntestType: eval\n');
    await put('in/values.yaml', 'image: a.example/b:v1\nreplicas: 1\n');
    const io = await convert('in', '--release', 'v1.0.0', '--out', 'out');
    expectEnd(io, 0, '2 files of other kinds skipped');
  });

  it('completes a catalog of names and images to publishable definitions', async () => {
    const entry = (kind: string, image: string) =>
      `  - group: fruit.example\n    names: {kind: ${kind}}\n    description: ${kind}\n    versions: [{name: v1}]\n    runtime: {container: {image: "${image}"}}\n`;
    const head =
      'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: fruit}\nspec:\n  krmFunctions:\n';
    await put(
      'catalog.yaml',
      head + entry('Peel', 'docker.fruit.example/peel:v1.0.0') + entry('Cut', 'bad image'),
    );
    const io = await convert('catalog.yaml', '--out', 'out');
    expect(io.exitCode).toBe(1);
    expect(await yamlFiles('out')).toEqual(['peel.yaml']);
    expect(io.err()).toMatch(/convert\/license/);
    expect(io.err()).toMatch(/^error\[image\/invalid\]/m);
    expect(io.err()).toMatch(/^wrote 1 definition to out; fix the errors in 1 file$/m);
    expect((await run(['lint', 'out'])).exitCode).toBe(0);
    expect((await run(['lint', 'catalog.yaml', '--ruleset', 'kep'])).exitCode).toBe(1);
  });

  it('converts only the --from type in folders, and rejects other file arguments', async () => {
    await put('in/metadata.yaml', metadata());
    await put('in/plugin.yaml', plugin);
    await put('in/kustomization.yaml', kustomization);
    await put('in/definition.yaml', await readFile(path.join(fixtures, 'set-namespace/1.4.2.yaml'), 'utf8'));
    const kinds = async (from: string) => {
      const io = await convert('in', '--from', from, '--release', 'v1.0.0');
      expect([from, io.exitCode]).toEqual([from, 0]);
      return parseAll(io.out()).map(({ spec }) => spec.names.kind);
    };
    expect(await kinds('kpt-metadata')).toEqual(['SetLabels']);
    expect(await kinds('krew')).toEqual(['ViewSecret']);
    expect(await kinds('kep')).toEqual(['SetNamespace']);
    expect(await kinds('auto')).toHaveLength(3);
    for (const from of ['kep', 'krew']) {
      const io = await convert('in/metadata.yaml', '--from', from);
      expect([io.exitCode, io.out()]).toEqual([1, '']);
      expect(io.err()).toContain('/unknown-document]: this is kpt function metadata');
    }
  });

  it('writes a catalog of the requested kind, and lists the corrections', async () => {
    const io = await convert(fixtures, '--to', 'catalog', '--name', 'example');
    expectEnd(io, 1, 'error[convert/clash]: ');
    expect(io.err()).toContain('use a catalog recipe');

    const text = await readFile(path.join(fixtures, 'set-namespace/1.4.2.yaml'), 'utf8');
    await put('a.yaml', text);
    const catalog = await convert('a.yaml', '--to', 'catalog', '--name', 'example');
    expect(parse(catalog.out())).toMatchObject({
      kind: 'Catalog',
      metadata: { name: 'example' },
      spec: { krmFunctions: [{ names: { kind: 'SetNamespace' } }] },
    });
    await put('catalog.yaml', catalog.out());
    const schema = await convert('catalog.yaml', '--to', 'krmfunctioncatalog', '--out', 'out');
    expect(schema.exitCode).toBe(0);
    expect(parse(await read('out/catalog.yaml'))).toEqual({
      ...parse(catalog.out()),
      kind: 'KRMFunctionCatalog',
    });

    await put('dialect.yaml', text.replace(/license: Apache-2.0/, 'license: apache 2.0'));
    const corrected = await convert('dialect.yaml', '--out', 'normal');
    expect(corrected.err()).toMatch(/^(info|warning)\[dialect\/license/m);
    expect(await read('normal/set-namespace.yaml')).toContain('license: Apache-2.0');
  });

  it.each([
    [['--release', 'newest'], '--release newest is not a SemVer version'],
    [['--group', 'NoGroup'], '--group NoGroup is not a valid group'],
    [['--name', 'example'], '--name requires the output of a catalog'],
    [['--to', 'catalog', '--name', 'No Name'], 'Use lower-case letters, digits, and inner hyphens'],
    [['--from', 'helm'], 'Allowed choices are'],
  ])('refuses %j', async (options, message) => {
    await put('a.yaml', metadata());
    const io = await convert('a.yaml', ...options);
    expect([io.exitCode, io.out()]).toEqual([2, '']);
    expect(io.err()).toContain(message);
  });

  it('reports that there is nothing to convert, and unreadable files', async () => {
    await put('in/kustomization.yaml', kustomization);
    const nothing = await convert('in');
    expectEnd(nothing, 3, 'nothing to convert in in');
    for (const stdin of ['', 'a: [', '\u0000', 'a: b']) {
      const io = await run(['convert', '-'], { stdin });
      expect([stdin, io.exitCode, io.out()]).toEqual([stdin, 1, '']);
      expect(io.err()).toMatch(/^error\[/m);
    }
    expect((await convert('missing')).exitCode).toBe(3);
    await put('a.yaml', metadata());
    expectEnd(await convert('a.yaml'), 1, '--release');
    await put('out', 'a file');
    expect((await convert('a.yaml', '--release', 'v1', '--out', 'out')).exitCode).toBe(5);
  });
});

describe.skipIf(!existsSync(path.join(shared, 'krew')))(
  `Krew plugins of others (from ${path.relative(root, shared)}; skipped where it is not there)`,
  () => {
    it('are converted without errors', async () => {
      expectEnd(await convert(path.join(shared, 'krew'), '--out', 'out'), 0);
      expect(await yamlFiles('out')).toHaveLength(21);
      expect(JSON.parse((await run(['lint', 'out', '--output', 'json'])).out())).toMatchObject({
        files: 21,
        errors: 0,
      });
    });
  },
);

describe('--to a profile', () => {
  const some = ['set-namespace', 'render-chart', 'require-limits'].map((name) => path.join(fixtures, name));

  it.each(PROFILES)(
    '%s writes the same bytes as the registry, and lists unsupported fields',
    async (profile) => {
      const ran = await convert(...some, '--to', profile, '--name', 'mine', '--losses', 'losses.json');
      expect(ran.exitCode, ran.err()).toBe(0);
      const definitions = await Promise.all(
        ['render-chart/3.1.0', 'set-namespace/1.4.2', 'require-limits/0.9.0'].map(async (name) => {
          const { documents } = lint(await readFile(path.join(fixtures, `${name}.yaml`)), { file: name });
          return (documents[0] as { definition: FunctionDefinition }).definition;
        }),
      );
      const expected = renderProfile(profile, { name: 'mine' }, definitions);
      expect(ran.out()).toBe(expected.text);
      expect(JSON.parse(await read('losses.json'))).toEqual(expected.report);
      expect(ran.err().includes('does not support')).toBe(expected.report.losses.length > 0);
    },
  );

  it('writes one file, and requires a profile for --losses', async () => {
    expect((await convert(...some, '--to', 'porch', '--out', 'out')).exitCode).toBe(0);
    expect(await yamlFiles('out')).toEqual(['catalog.yaml']);
    expectEnd(await convert(...some, '--losses', 'losses.json'), 2, 'kustomize-prototype');
  });
});
