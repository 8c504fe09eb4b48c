import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, type TestIoOptions, temporaryFolder } from '../testing/command-line.js';

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/functions', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const lint = (args: readonly string[], options: TestIoOptions = {}) =>
  runTest(['lint', ...args], { cwd: folder, ...options });

async function put(name: string, text: string | Uint8Array): Promise<void> {
  await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
  await writeFile(path.join(folder, name), text);
}

const definition = (image = 'registry.example.com/fn:v1.0.0') => `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: example.com
  names:
    kind: SetOwner
  description: Set the owner.
  publisher: example.com
  versions:
    - name: v1
      idempotent: true
      license: Apache-2.0
      usage: https://example.com/v1.0.0/README.md
      examples: [https://example.com/v1.0.0/example.yaml]
      runtime:
        container:
          image: ${image}
          sha256: ${'0f'.repeat(32)}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            owner: {type: string, description: Who owns it.}
`;
const broken = definition().replace('type: string', 'type: bool');
const kustomization = 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n';

describe('lint', () => {
  it('reports no problems for valid files', async () => {
    await put('good.yaml', definition());
    const io = await lint(['good.yaml']);
    expect([io.exitCode, io.out(), io.err()]).toEqual([0, '1 file: no problems\n', '']);
  });

  it('skips workflows and values in a folder, with keys that parsers read in different ways', async () => {
    await put('all/definition.yaml', definition());
    await put('all/ci.yaml', 'name: CI\non:\n  push: {}\njobs: {}\n');
    await put('all/values.yaml', '# Of config.kubernetes.io/v1 functions.\nenabled: yes\n');
    const io = await lint(['all']);
    expect([io.exitCode, io.out()]).toEqual([0, '1 file: no problems; 2 files of other kinds skipped\n']);
  });

  it('reports a broken definition in a folder', async () => {
    await put('all/definition.yaml', definition());
    await put('all/broken.yaml', `${definition()}  home: [`);
    const io = await lint(['all']);
    expect([io.exitCode, io.out()]).toEqual([1, expect.stringContaining('error[yaml/syntax]')]);
  });

  it('skips files of other kinds in a folder, and rejects them as arguments', async () => {
    await put('all/definition.yaml', definition());
    await put('all/kustomization.yaml', kustomization);
    await put('all/example.yaml', 'apiVersion: example.com/v1\nkind: SetOwner\nowner: me\n');
    await put('all/empty.yaml', '# nothing\n');
    const io = await lint(['all']);
    expect(io.exitCode).toBe(0);
    expect(io.out()).toBe('1 file: no problems; 3 files of other kinds skipped\n');
    const named = await lint(['all/kustomization.yaml']);
    expect(named.exitCode).toBe(1);
    expect(named.out()).toContain('error[dialect/unknown-document]: this is a kustomize file');
    expect(named.out()).toContain(' --> all/kustomization.yaml:2:7\n');
  });

  it('does not skip an unreadable definition', async () => {
    await put('all/definition.yaml', definition());
    await put('all/broken.yaml', definition().replace('kind: SetOwner', 'kind: [SetOwner'));
    const io = await lint(['all']);
    expect(io.exitCode).toBe(1);
    expect(io.out()).toMatch(/^error\[yaml\/syntax\][^\n]*\n +--> all\/broken\.yaml:\d+:\d+$/m);
    expect(io.out()).toMatch(/^2 files: /m);
  });

  it('exits with 1 for errors, and with 0 for warnings', async () => {
    await put('broken.yaml', broken);
    const io = await lint(['broken.yaml']);
    expect(io.exitCode).toBe(1);
    const line = broken.split('\n').findIndex((text) => text.includes('type: bool')) + 1;
    expect(io.out()).toContain(` --> broken.yaml:${line}:`);
    expect(io.out()).toMatch(/^1 file: 1 error$/m);
    await put('floating.yaml', definition('registry.example.com/fn:latest').replace(/^ *sha256.*\n/m, ''));
    const warned = await lint(['floating.yaml']);
    expect(warned.exitCode).toBe(0);
    expect(warned.out()).toMatch(/^warning\[image\/floating-tag\]/m);
    expect(warned.out()).toMatch(/^1 file: 1 warning$/m);
  });

  it('prints the same JSON in a pipe and in a terminal', async () => {
    await put('broken.yaml', broken);
    await put('good.yaml', definition());
    const io = await lint(['broken.yaml', 'good.yaml', '--output', 'json']);
    expect(io.exitCode).toBe(1);
    const report = JSON.parse(io.out());
    expect(Object.keys(report)).toEqual(['files', 'errors', 'warnings', 'diagnostics']);
    expect(report).toMatchObject({ files: 2, errors: 1, warnings: 0 });
    expect(report.diagnostics).toEqual([
      {
        code: expect.stringMatching(/^schema\//),
        severity: 'error',
        message: expect.any(String),
        file: 'broken.yaml',
        path: 'spec.versions[0].schema.openAPIV3Schema.properties.owner.type',
        line: broken.split('\n').findIndex((text) => text.includes('type: bool')) + 1,
        column:
          broken
            .split('\n')
            .find((text) => text.includes('type: bool'))!
            .indexOf('bool') + 1,
        hint: expect.any(String),
      },
    ]);
    const terminal = await lint(['broken.yaml', 'good.yaml', '--output', 'json'], { tty: true });
    expect(terminal.out()).toBe(io.out());
  });

  it('reads stdin', async () => {
    const io = await lint(['-'], { stdin: broken });
    expect(io.exitCode).toBe(1);
    expect(io.out()).toContain(' --> <stdin>:');
  });

  it('warns of the image of another release with --release', async () => {
    await put('definition.yaml', definition('registry.example.com/fn:v0.1.0'));
    const told = async (...options: string[]) => {
      const { exitCode, out } = await lint(['definition.yaml', '-o', 'json', ...options]);
      const { diagnostics } = JSON.parse(out()) as {
        diagnostics: { code: string; range: unknown; message: string }[];
      };
      return [exitCode, diagnostics.map(({ code, message }) => `${code}: ${message}`)];
    };
    const message = 'the image "registry.example.com/fn:v0.1.0" is of the release 0.1.0, not of 1.0.0';
    expect(await told('--release', 'v1.0.0')).toEqual([0, [`image/other-release: ${message}`]]);
    expect([await told(), await told('--release', '0.1.0')]).toEqual([
      [0, []],
      [0, []],
    ]);
    expect((await lint(['definition.yaml', '--release', 'latest'])).exitCode).toBe(2);
  });

  it('lints a file once if it is an argument twice', async () => {
    await put('all/good.yaml', definition());
    expect((await lint(['all', 'all/good.yaml', 'all'])).out()).toBe('1 file: no problems\n');
  });

  it.each<[string, string | Uint8Array, string]>([
    ['binary', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]), 'yaml/'],
    ['UTF-16', new Uint8Array([0xff, 0xfe, 0x61, 0]), 'yaml/encoding'],
    ['too large', `a: ${'x'.repeat(20_000_000)}`, 'yaml/'],
    ['too deep', '['.repeat(100_000), 'yaml/'],
    ['empty', '', 'yaml/empty'],
  ])('refuses what is %s', async (_, content, code) => {
    await put('bad.yaml', content);
    const io = await lint(['bad.yaml']);
    expect(io.exitCode).toBe(1);
    expect(io.out()).toContain(`error[${code}`);
    expect(io.out().length).toBeLessThan(20_000);
  });

  it('reports missing files', async () => {
    const missing = await lint(['missing.yaml']);
    expect([missing.exitCode, missing.out()]).toEqual([3, '']);
    expect(missing.err()).toContain('cannot read missing.yaml: no such file or folder');
    await put('other/kustomization.yaml', kustomization);
    const other = await lint(['other']);
    expectEnd(other, 3, 'no definition or catalog in other');
    expect((await lint([])).exitCode).toBe(2);
    expect((await lint(['x', '--output', 'xml'])).exitCode).toBe(2);
  });

  it('finds no error in the sample functions', async () => {
    const io = await lint([fixtures, '--output', 'json']);
    expect(io.exitCode).toBe(0);
    expect(JSON.parse(io.out())).toMatchObject({ errors: 0 });
  });
});

describe('documents of the registry', () => {
  const recipe = (rest = '') =>
    `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: platform}\nspec:\n  sources: [{name: ours, functions: {}}]\n${rest}`;
  const policy = (name: string, groups: string) =>
    `apiVersion: krmhub.dev/v1alpha1\nkind: SigningPolicy\nmetadata: {name: ${name}}\nspec: {groups: [${groups}], signers: [{issuer: "https://a.example", subject: b}]}\n`;

  it('are linted like definitions, also in folders', async () => {
    await put('all/definition.yaml', definition());
    await put('all/recipe.yaml', recipe('  polciy: {}\n'));
    await put('all/policies.yaml', `${policy('a', 'a.co')}---\n${policy('b', 'A.co')}`);
    await put('all/kustomization.yaml', kustomization);
    const io = await lint(['all']);
    expect(io.exitCode).toBe(1);
    expect(io.out()).toContain('error[recipe/unknown-field]');
    expect(io.out()).toContain('all/recipe.yaml:6:3');
    expect(io.out()).toContain('Did you mean `policy`?');
    expect(io.out()).toContain('all/policies.yaml:9:17');
    expect(io.out()).toContain('3 files: 2 errors; 1 file of other kinds skipped');
    const sarif = JSON.parse((await lint(['all', '--output', 'sarif'])).out());
    const rules = sarif.runs[0].tool.driver.rules.map(({ id }: { id: string }) => id);
    expect(rules).toEqual(['policy/group', 'recipe/unknown-field']);
  });

  it('can refer to key files next to them', async () => {
    const signed = recipe('  policy: {requireSignature: [{groups: [a.co], key: a.pub}]}\n');
    await put('ours/recipe.yaml', signed);
    const missing = await lint(['ours/recipe.yaml']);
    expect([missing.exitCode, missing.out().includes('cannot read a.pub')]).toEqual([1, true]);
    const { publicKey } = generateKeyPairSync('ed25519');
    await put('ours/a.pub', String(publicKey.export({ type: 'spki', format: 'pem' })));
    for (const io of [
      await lint(['ours/recipe.yaml']),
      await lint(['-'], { stdin: signed, cwd: path.join(folder, 'ours') }),
    ]) {
      expect([io.exitCode, io.out()]).toEqual([0, '1 file: no problems\n']);
    }
  });

  it('are rejected in a file with definitions', async () => {
    await put('mixed.yaml', `${definition()}---\n${recipe()}`);
    const io = await lint(['mixed.yaml']);
    expect([io.exitCode, io.out().includes('this is a catalog recipe')]).toEqual([1, true]);
  });
});
