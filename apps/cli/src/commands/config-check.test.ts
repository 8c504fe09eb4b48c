import { chmod, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, type TestIo } from '../testing/command-line.js';
import { type TestPackage, testPackage } from '../testing/package-files.js';

/** The schema of a function is enforced by every command that uses a functionConfig, in the same words. */

let pack: TestPackage;
afterEach(() => pack.remove());

const CATALOG = `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: schemas}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: JavaApplication}
    description: Deploys a Java application.
    publisher: Example
    versions:
    - name: v1
      idempotent: true
      license: Apache-2.0
      usage: https://example.com/usage.md
      examples: [https://example.com/example.yaml]
      runtime: {container: {image: localhost:9/java:1, sha256: ${'a'.repeat(64)}}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [application]
              properties:
                application: {type: string}
                memory: {type: integer, format: int64}
                ports: {type: array, x-kubernetes-list-type: set, items: {type: integer}}
              x-kubernetes-validations:
              - {rule: "!has(self.memory) || self.memory > 0", message: memory must be positive, fieldPath: .memory}
`;
const KPTFILE = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {name: app}
pipeline:
  mutators:
  - configPath: java.yaml
`;
const javaText = (spec: string) =>
  `# The application.\napiVersion: example.com/v1\nkind: JavaApplication\nmetadata: {name: java}\nspec:\n${spec}`;

/** `build` asks for the version, and must not come to a build. */
const KUSTOMIZE = '#!/bin/sh\n[ "$1" = version ] && echo v5.8.2\n';

async function run(...args: string[]): Promise<TestIo> {
  await chmod(path.join(pack.folder, 'bin/kustomize'), 0o755);
  const env = {
    KRMHUB_CACHE: path.join(pack.folder, '.cache'),
    PATH: `${path.join(pack.folder, 'bin')}:/usr/bin:/bin`,
  };
  return runTest([...args, '--catalog', 'catalog.yaml'], { cwd: pack.folder, env });
}
async function write(spec: string): Promise<void> {
  const config = javaText(spec);
  pack = await testPackage({
    'bin/kustomize': KUSTOMIZE,
    'catalog.yaml': CATALOG,
    'app/kustomization.yaml': 'transformers: [java.yaml]\n',
    'app/java.yaml': config,
    'package/Kptfile': KPTFILE,
    'package/java.yaml': config,
  });
}
const forgetCache = () => rm(path.join(pack.folder, '.cache'), { recursive: true });

const COMMANDS = [
  ['build', 'app'],
  ['explain', 'app'],
  ['lock', 'app'],
  ['kpt', 'sync', 'package'],
];
const CASES: [problem: string, spec: string, place: string][] = [
  [
    'spec has the unknown field "aplication"; did you mean "application"?',
    '  application: a\n\n  aplication: b\n',
    '8:3',
  ],
  ["spec must have required property 'application'", '  memory: 1\n', '6:3'],
  ['spec.memory must be an integer of 64 bits', '  application: a\n  memory: 9223372036854775808\n', '7:11'],
  ['spec.memory is not valid: memory must be positive', '  application: a\n  memory: -1\n', '7:11'],
  ['spec.ports[1] is the same as item 0', '  application: a\n  ports: [1, 1]\n', '7:14'],
];

describe.each(COMMANDS)('krmhub %s %s', (...command) => {
  const words = command.filter((one) => one !== undefined);
  it.each(CASES)('refuses a functionConfig where %s', async (problem, spec, place) => {
    await write(spec);
    const io = await run(...words);
    expectEnd(
      io,
      1,
      `the functionConfig of example.com/v1 JavaApplication does not satisfy the schema of its catalog\n`,
    );
    const file = `${words.at(-1)}/java.yaml`;
    expect(io.err()).toContain(`\n  ${file}:${place}: ${problem}\n`);
    expect(io.err()).toContain('hint: Show its fields: krmhub show example.com/JavaApplication\n');
  });
});

const tooLarge = `  application: a\n  ports: [${Array.from({ length: 20_001 }, (_, at) => at).join(',')}]\n`;
const FN_COMMANDS = [
  ['fn', 'render', 'package'],
  ['fn', 'eval', 'package', '--fn-config', 'package/java.yaml'],
];

describe.each([...COMMANDS, ...FN_COMMANDS])('krmhub %s %s %s %s', (...command) => {
  it('warns once of a functionConfig that is too large to check', async () => {
    await write(tooLarge);
    const io = await run(...command.filter((one) => one !== undefined));
    const file = `${command.includes('app') ? 'app' : 'package'}/java.yaml`;
    const warning = `${file}:2:1: the functionConfig of example.com/v1 JavaApplication is not checked: it has 20000 values or more`;
    expect(`${io.out()}${io.err()}`.split(warning)).toHaveLength(2);
  });
});

describe.each(FN_COMMANDS)('krmhub %s %s', (...command) => {
  it('checks a functionConfig before it looks for the image', async () => {
    await write('  memory: 1\n');
    const io = await run(...command);
    expectEnd(io, 1, "package/java.yaml:6:3: spec must have required property 'application'");
    expect(io.err()).not.toContain('engine');
  });
});

describe('a functionConfig', () => {
  it('with the largest integer of 64 bits satisfies its schema', async () => {
    await write('  application: a\n  memory: 9223372036854775807\n');
    const io = await run('explain', 'app');
    expect([io.exitCode, io.err()]).toEqual([0, '1 function\n']);
  });

  it('is checked where a lock file has its function', async () => {
    await write('  application: a\n');
    expect((await run('lock', 'app')).exitCode).toBe(0);
    await pack.write({ 'app/java.yaml': javaText('  memory: 1\n') });
    for (const command of ['build', 'explain', 'lock']) {
      const io = await run(command, 'app');
      expect([io.exitCode, io.err()], command).toEqual([
        1,
        expect.stringContaining("app/java.yaml:6:3: spec must have required property 'application'"),
      ]);
    }
  });
});

const second = javaText('  application: b\n');
/** A second functionConfig of the same kind. */
const SECOND = {
  'app/kustomization.yaml': 'transformers: [java.yaml, second.yaml]\n',
  'app/second.yaml': second,
  'package/Kptfile': `${KPTFILE}  - configPath: second.yaml\n`,
  'package/second.yaml': second,
};
const ALL_COMMANDS = [...COMMANDS, ...FN_COMMANDS].map((command) => ({ command, name: command.join(' ') }));

describe.each(ALL_COMMANDS)('krmhub $name, where the catalog no longer has the locked definition', (one) => {
  const { command } = one;
  const folder = command.find((word) => word === 'app' || word === 'package')!;
  const lockAndChange = async () => {
    await write('  application: a\n');
    expect((await run('lock', folder)).exitCode).toBe(0);
    await pack.write({ 'catalog.yaml': CATALOG.replace('application: {', 'application: {maxLength: 1, ') });
  };
  const frozen = ['lock', 'eval'].some((word) => command.includes(word)) ? [] : ['--frozen'];

  it('checks with the schema of the locked definition', async () => {
    await lockAndChange();
    const config = javaText('  application: longer\n  memory: 0\n');
    await pack.write({ 'app/java.yaml': config, 'package/java.yaml': config });
    for (const more of [[], frozen]) {
      const io = await run(...command, ...more);
      const text = `${io.out()}${io.err()}`;
      expect(io.exitCode).toBe(1);
      expect(text).toContain(`${folder}/java.yaml:7:11: spec.memory is not valid: memory must be positive`);
      expect(text).not.toContain('spec.application');
    }
  });

  it('warns once, in the same words, if nothing has it', async () => {
    await lockAndChange();
    const known = await run(...command);
    await forgetCache();
    await pack.write(SECOND);
    for (const more of [[], frozen]) {
      const io = await run(...command, ...more);
      const warning =
        'example.com/v1 JavaApplication: its functionConfig is not checked: the locked definition is not available';
      const text = `${io.out()}${io.err()}`.replace(/\(([^)]*)\)/g, '$1');
      if (command.includes('explain')) expect(text).toContain(warning.split(': ').slice(1).join(': '));
      else expect(text.split(warning)).toHaveLength(2);
      expect(io.exitCode).toBe(known.exitCode);
    }
  });
});
