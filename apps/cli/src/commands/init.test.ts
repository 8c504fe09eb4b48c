import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { functionConfigSchema, lint, readYaml } from '@krmhub/schema';
import { Ajv } from 'ajv';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, temporaryFolder } from '../testing/command-line.js';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const run = (...args: string[]) => runTest(args, { cwd: folder });
const read = (name: string) => readFile(path.join(folder, name), 'utf8');

async function started(directory: string) {
  // `krmhub publish` fills in the reference of a script.
  const text = (await read(path.join(directory, 'definition.yaml'))).replace(
    './main.star',
    `oci://registry.example.com/script@sha256:${'0f'.repeat(32)}`,
  );
  const left = lint(Buffer.from(text), { file: 'definition.yaml' }).diagnostics;
  const errors = left.filter(({ severity }) => severity === 'error').map(({ code }) => code);
  expect(errors).toContain('placeholder/marked');
  expect(errors.filter((code) => !code.startsWith('placeholder/'))).toEqual([]);
  // As its author does, who writes what is asked for and removes the marks.
  const written = text.replaceAll('# CHANGE:', '#').replaceAll('0'.repeat(64), '0f'.repeat(32));
  const { documents, diagnostics } = lint(Buffer.from(written), { file: 'definition.yaml' });
  const [document] = documents;
  if (document?.kind !== 'KRMFunctionDefinition') throw new Error(JSON.stringify(diagnostics));
  return { definition: document.definition, diagnostics };
}

describe('init', () => {
  it('writes a definition, a README, and an example, and prints the next steps', async () => {
    const io = await run('init', 'example.com/SetLabels');
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.out()).toBe('');
    expect((await readdir(path.join(folder, 'set-labels'))).sort()).toEqual([
      'README.md',
      'definition.yaml',
      'example.yaml',
      'examples',
    ]);
    for (const said of [
      'wrote set-labels/definition.yaml',
      '--language go, typescript, or python',
      'krmhub lint set-labels',
      'krmhub test set-labels --exec PROGRAM',
      'krmhub pin set-labels ',
      'krmhub publish set-labels/definition.yaml',
    ])
      expect(io.err()).toContain(said);
    const { definition } = await started('set-labels');
    expect(definition).toMatchObject({ group: 'example.com', names: { kind: 'SetLabels' } });
    expect(definition.versions[0]!.runtime.container?.image).toBe(
      'registry.example.com/functions/set-labels:v0.1.0',
    );
    expect(await read('set-labels/README.md')).toContain('# SetLabels');
    // What has to be written is told, each with its line.
    const left = await run('lint', 'set-labels');
    expect(left.exitCode).toBe(1);
    const marks = (await read('set-labels/definition.yaml')).match(/# CHANGE:/g)!.length;
    expect(left.out().match(/^error\[placeholder\/marked\]/gm)).toHaveLength(marks);
    expect(left.out()).toMatch(new RegExp(`^1 file: ${marks} errors`, 'm'));
  });

  it.each([
    ['container', 'example.com/SetLabels'],
    ['exec', 'example.com/SetLabels'],
    ['starlark', 'example.com/SetLabels'],
    // Names that YAML would take for something else than text.
    ['exec', 'example.com/Null'],
    ['container', '1.5/True'],
    ['starlark', '0.0/Yes'],
    ['exec', `${'a'.repeat(60)}.example.com/${'K'.repeat(63)}`],
  ])('starts a function with the runtime %s that is %s without errors', async (runtime, name) => {
    expectEnd(await run('init', name, '--runtime', runtime, '--out', 'deep/folder'), 0);
    const { definition, diagnostics } = await started('deep/folder');
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(`${definition.group}/${definition.names.kind}`).toBe(name);
    expect(Object.keys(definition.versions[0]!.runtime)).toEqual([runtime]);

    const bytes = await readFile(path.join(folder, 'deep/folder/example.yaml'));
    const example = readYaml(bytes, { file: 'example.yaml' }).documents[0]?.value;
    const ajv = new Ajv({ strict: false, allErrors: true });
    const validate = ajv.compile(functionConfigSchema(definition, definition.versions[0]!.name));
    expect(validate(example) ? [] : validate.errors).toEqual([]);
    expect(example).toMatchObject({
      apiVersion: `${definition.group}/v1alpha1`,
      kind: definition.names.kind,
    });
    // The schema is not one that anything passes.
    expect(validate({ ...(example as object), owner: '' })).toBe(false);
  });

  it('writes addresses that lint reports until their author replaces them', async () => {
    await run('init', 'acme.dev/SetOwner');
    const { diagnostics } = await started('set-owner');
    const addresses = diagnostics.filter(({ code }) => code === 'placeholder/address');
    expect(addresses.map(({ path: at }) => at)).toEqual([
      'spec.home',
      'spec.versions[0].usage',
      'spec.versions[0].examples[0]',
      'spec.versions[0].runtime.container.image',
    ]);
    expect(addresses.every(({ severity }) => severity === 'warning')).toBe(true);
  });

  it('writes a script that lint reads beside its definition', async () => {
    await run('init', 'example.com/SetOwner', '--runtime', 'starlark');
    const codes = async () =>
      [...(await run('lint', 'set-owner')).out().matchAll(/^error\[(\S+)\]/gm)].map(([, code]) => code);
    expect(new Set(await codes())).toEqual(new Set(['placeholder/marked']));
    await writeFile(path.join(folder, 'set-owner/main.star'), 'load("krmfn.star", "krmfn")\nx = y\n');
    expect(await codes()).toEqual(expect.arrayContaining(['placeholder/marked', 'script/name']));
    const script = await run('lint', 'set-owner/main.star');
    expect(script.exitCode).toBe(1);
    expect(script.out()).toMatch(/error\[script\/name\].*\n.*set-owner\/main\.star:2:5/);
    expect(script.out()).toContain('warning[script/unused-load]');
    await rm(path.join(folder, 'set-owner/main.star'));
    const missing = await run('lint', 'set-owner');
    expect(missing.out()).toContain('the script set-owner/main.star does not exist');
  });

  it.each([
    ['go', ['Dockerfile', 'build.sh', 'go.mod', 'go.sum', 'main.go', 'passwd', 'resource_list.go']],
    ['typescript', ['Dockerfile', 'main.ts', 'package.json', 'tsconfig.json']],
    ['python', ['Dockerfile', 'main.py', 'requirements.txt']],
  ])('writes a program in %s, which test/interop/init-languages.test.ts builds', async (language, files) => {
    const io = await run('init', 'example.com/SetOwner', '--language', language, '--out', "it's");
    expectEnd(io, 0, 'krmhub docs authoring');
    const written = await readdir(path.join(folder, "it's"));
    expect(written).toEqual(expect.arrayContaining(['.dockerignore', '.github', '.gitignore', ...files]));
    const dockerfile = await read("it's/Dockerfile");
    expect(dockerfile).toMatch(/\nUSER 65532:65532\n/);
    expect(dockerfile).not.toMatch(/:latest|@sha256/);
    // A folder is one word of each command.
    const [test] = io.err().match(/krmhub test .*/)!;
    expect(test).toMatch(/^krmhub test 'it'\\''s' --exec /);
    expectEnd(await run('lint', "it's"), 1);
    expect((await started("it's")).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  it.each([
    [['--runtime', 'starlark', '--language', 'go'], '--language cannot be combined with --runtime starlark'],
    [['--runtime', 'exec', '--language', 'python'], 'an exec function in python cannot be built'],
    [['--platforms', 'linux/amd64'], '--platforms cannot be combined with --runtime container'],
    [
      ['--runtime', 'exec', '--platforms', 'linux'],
      'Use a list of these: linux/amd64, linux/arm64, darwin/amd64',
    ],
    [['--runtime', 'exec', '--platforms', 'linux/amd64,plan9/amd64'], 'Use a list of these'],
    [['--language', 'rust'], "argument 'rust' is invalid"],
  ])('refuses %j, and writes nothing', async (args, message) => {
    expectEnd(await run('init', 'example.com/SetOwner', ...args), 2, message);
    expect(await readdir(folder)).toEqual([]);
  });

  it('lists the executables of an exec function, each platform once', async () => {
    const platforms = 'linux/amd64,windows/arm64,linux/amd64';
    expectEnd(await run('init', 'example.com/SetOwner', '--runtime', 'exec', '--platforms', platforms), 0);
    const { definition } = await started('set-owner');
    const files = ['set-owner_linux_amd64', 'set-owner_windows_arm64.exe'];
    expect(definition.versions[0]!.runtime.exec!.platforms).toMatchObject([
      { os: 'linux', arch: 'amd64', bin: 'set-owner' },
      { os: 'windows', arch: 'arm64', bin: 'set-owner.exe' },
    ]);
    expect(definition.versions[0]!.runtime.exec!.platforms.map(({ uri }) => path.basename(uri))).toEqual(
      files,
    );
    expect(await read('set-owner/build.sh')).toContain('linux/amd64 windows/arm64');
  });

  it('replaces no files', async () => {
    await run('init', 'example.com/SetLabels');
    await rm(path.join(folder, 'set-labels/README.md'));
    await rm(path.join(folder, 'set-labels/definition.yaml'));
    await rm(path.join(folder, 'set-labels/examples'), { recursive: true });
    await writeFile(path.join(folder, 'set-labels/example.yaml'), 'mine');
    expectEnd(await run('init', 'example.com/SetLabels'), 1, 'set-labels/example.yaml already exists');
    expect(await readdir(path.join(folder, 'set-labels'))).toEqual(['example.yaml']);
    expect(await read('set-labels/example.yaml')).toBe('mine');
  });

  it.each([
    'SetLabels',
    'example/SetLabels',
    'Example.com/SetLabels',
    'example.com/',
    'example.com/set labels',
    'example.com/SetLabels@1.0.0',
    '../up/SetLabels',
  ])('refuses %s and writes nothing', async (name) => {
    const io = await run('init', name);
    expect(io.exitCode).toBe(2);
    expect(io.err()).toMatch(/^error: /);
    // Init takes no release.
    expect(io.err()).toMatch(/\n {2}hint: Use GROUP\/KIND, for example/);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ['set-owner', 'SetOwner'],
    ['setOwner', 'SetOwner'],
    ['set-', undefined],
  ])('rejects the kind %s, which lint would warn about, and names the right one', async (kind, right) => {
    const io = await run('init', `example.com/${kind}`);
    expect(io.exitCode).toBe(2);
    if (right !== undefined) {
      expect(io.err()).toBe(
        `error: the kind ${kind} is not in PascalCase, as kinds of Kubernetes are\n  hint: Use: krmhub init example.com/${right}\n`,
      );
    }
    expect(await readdir(folder)).toEqual([]);
    expect((await run('init', 'example.com/SetOwner2', '--out', 'other')).exitCode ?? 0).toBe(0);
  });

  it.each(['go', 'python'])('prints paths without a double slash, in %s', async (language) => {
    const io = await run('init', 'example.com/SetOwner', '--language', language, '--out', 'deep/owner/');
    expect(io.err()).toContain('deep/owner/');
    expect(io.err()).not.toMatch(/\/\/|-C \S*\/ /);
  });

  it('warns that the first image of an example cannot run', async () => {
    await run('init', 'example.com/SetOwner');
    const { diagnostics } = await started('set-owner');
    const addresses = diagnostics.filter(({ code }) => code === 'placeholder/address');
    expect(addresses.map(({ path: at }) => at)).toEqual(['spec.versions[0].runtime.container.image']);
  });

  it('quotes a folder that the shell would split', async () => {
    const io = await run('init', 'example.com/SetLabels', '--out', "it's here");
    expect(io.err()).toContain("krmhub lint 'it'\\''s here'");
  });

  it.runIf(existsSync('/proc/self'))('says at once that a folder cannot be made', async () => {
    for (const where of ['/proc/x', '/proc/x/y/z']) {
      const io = await run('init', 'example.com/SetLabels', '--out', where);
      expect([io.exitCode, io.err()]).toEqual([
        5,
        `error: cannot create the folder ${where}\n  hint: Choose a folder on a writable disk.\n`,
      ]);
    }
  });

  it('reports that the folder is a file', async () => {
    await writeFile(path.join(folder, 'set-labels'), '');
    expectEnd(await run('init', 'example.com/SetLabels'), 5, 'a part of the path is not a folder');
  });
});
