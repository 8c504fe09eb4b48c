import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { root, temporaryFolder } from '../running.js';
import { normalizeDiff, normalizeTimes } from './compare.js';
import { readConfig } from './config.js';
import { DOCUMENTED_DIFFERENCES, NOT_OF_KPT } from './differences.js';
import { findCases } from './find-cases.js';
import { runCase, type Setting } from './run-case.js';

/** The harness of kpt's end-to-end cases, with a script in place of kpt. */

const { folder, remove } = temporaryFolder();
afterAll(remove);

const programs = path.join(folder, 'programs');
mkdirSync(programs);
/** Prints its arguments without the folder, changes a file, and writes results. */
writeFileSync(
  path.join(programs, 'kpt'),
  `#!/bin/sh
echo "[PASS] \\"image\\" in 1.25s" >&2
package=$3
echo "$*" | sed "s|$package|PACKAGE|g; s|$(dirname "$package")|FOLDER|g"
cd "$package" && sed -i s/old/new/ data.yaml
results=$(dirname "$package")/results
case "$*" in *--results-dir*) mkdir -p "$results" && echo 'exitCode: 0' >"$results/results.yaml" ;; esac
if test -e fail; then exit 1; fi
`,
);
chmodSync(path.join(programs, 'kpt'), 0o755);
const setting: Setting = {
  program: 'kpt',
  programs,
  engine: 'docker',
  milliseconds: 60_000,
  runs: undefined,
  keep: false,
};
const DIFF = `diff --git a/data.yaml b/data.yaml
index 0000000..1111111 100644
--- a/data.yaml
+++ b/data.yaml
@@ -1 +1 @@
-a: old
+a: new
`;

let count = 0;
/** Writes a case; `expected` are the files in its folder `.expected`. */
function makeCase(expected: Record<string, string>, files: Record<string, string> = {}) {
  const at = path.join(folder, 'cases', String(++count), 'fn-render', 'sample');
  mkdirSync(path.join(at, '.expected'), { recursive: true });
  for (const [name, text] of Object.entries({ 'data.yaml': 'a: old\n', ...files })) {
    mkdirSync(path.dirname(path.join(at, name)), { recursive: true });
    writeFileSync(path.join(at, name), text);
  }
  for (const [name, text] of Object.entries(expected)) writeFileSync(path.join(at, '.expected', name), text);
  return findCases(path.join(folder, 'cases', String(count)))[0]!;
}

async function differences(expected: Record<string, string>, files?: Record<string, string>) {
  const outcome = await runCase(makeCase(expected, files), setting);
  return outcome.differences.map(({ what }) => what);
}

describe('a case', () => {
  it('passes with the expected files and output', async () => {
    const config = `stdOut: fn render PACKAGE --results-dir FOLDER/results --allow-exec\nallowExec: true\nstdErr: '[PASS] "image" in 0s'\n`;
    expect(
      await differences({ 'config.yaml': config, 'diff.patch': DIFF, 'results.yaml': 'exitCode: 0\n' }),
    ).toEqual([]);
  });

  it('fails for each expectation that is not met', async () => {
    const config = 'exitCode: 3\nstdErr: other\nstdErrRegEx: ^other$\nstdOut: other\n';
    expect(
      await differences({ 'config.yaml': config, 'diff.patch': '', 'results.yaml': 'exitCode: 1\n' }),
    ).toEqual(['exit code', 'stderr', 'stderr', 'stdout', 'results', 'diff']);
  });

  it('passes options and arguments of fn eval, with paths relative to .expected', async () => {
    const config = `testType: eval
image: example.com/set-name:v1
args: { name: a, other: 2 }
fnConfig: ../../config.yaml
network: true
imagePullPolicy: Always
includeMetaResources: true
`;
    const line = (text: string) => `stdOut: ${text}\n`;
    const configFile = path.join(folder, 'cases', String(count + 1), 'fn-render', 'config.yaml');
    const options = `--image-pull-policy Always --network --image example.com/set-name:v1 --fn-config ${configFile} --include-meta-resources -- name=a other=2`;
    expect(
      await differences({ 'config.yaml': config + line(`fn eval PACKAGE ${options}`), 'diff.patch': DIFF }),
    ).toEqual([]);
  });

  it('writes to the folder out of a case that has one', async () => {
    expect(
      await differences(
        { 'config.yaml': 'stdOut: fn render PACKAGE -o PACKAGE/out', 'diff.patch': DIFF },
        { 'out/.keep': '' },
      ),
    ).toEqual([]);
  });

  it('runs exec.sh in the package, after setup.sh', async () => {
    const scripts = {
      'setup.sh': 'echo text > from-setup',
      'exec.sh': 'cat from-setup; rm from-setup',
      'teardown.sh': 'exit 0',
    };
    expect(await differences({ ...scripts, 'config.yaml': 'stdOut: text' })).toEqual([]);
    expect(await differences({ ...scripts, 'setup.sh': 'exit 1' })).toEqual(['setup']);
    expect(await differences({ ...scripts, 'teardown.sh': 'exit 1' })).toEqual(['teardown']);
  });

  it('runs again over the same package', async () => {
    const script = { 'exec.sh': 'echo a >> log', 'diff.patch': '' };
    const added =
      'diff --git a/log b/log\nnew file mode 100644\n--- /dev/null\n+++ b/log\n@@ -0,0 +1 @@\n+a\n';
    expect(await differences({ ...script, 'diff.patch': added })).toEqual([]);
    expect(await differences({ ...script, 'diff.patch': added, 'config.yaml': 'runCount: 2' })).toEqual([
      'diff',
    ]);
  });

  it('takes every exit code of a failure for that of kpt, with krmhub', async () => {
    const one = makeCase({ 'config.yaml': 'exitCode: 1', 'exec.sh': 'exit 4' });
    const codes = async (program: Setting['program']) => {
      const outcome = await runCase(one, { ...setting, program });
      return outcome.differences.map(({ what }) => what);
    };
    expect([await codes('kpt'), await codes('krmhub')]).toEqual([['exit code'], []]);
  });

  it('is ended when it takes too long', async () => {
    const one = makeCase({ 'exec.sh': 'sleep 60' });
    const outcome = await runCase(one, { ...setting, milliseconds: 200 });
    expect(outcome.differences.map(({ what }) => what)).toEqual(['time']);
  });
});

it('documents the cases that may fail', () => {
  const page = readFileSync(path.join(root, 'docs/internals/conformance.md'), 'utf8');
  for (const [name, reason] of [...DOCUMENTED_DIFFERENCES, ...NOT_OF_KPT]) {
    expect(page).toContain(`| \`${name}\` | ${reason} |`);
  }
});

describe('reading', () => {
  it('finds nested cases by the names that kpt gives them', () => {
    makeCase({ 'config.yaml': '' }, { 'inner/.expected/config.yaml': 'skip: true\n' });
    const cases = findCases(path.join(folder, 'cases', String(count)));
    expect(cases.map(({ name, config }) => [name, config.skip])).toEqual([
      ['fn-render/sample', false],
      ['fn-render/sample/inner', true],
    ]);
  });

  it('reads older configurations, and names unknown fields', () => {
    const { folder: at } = makeCase({ 'config.yaml': 'testType: eval\nevalConfig: {image: a}\nlater: 1\n' });
    expect(readConfig(at)).toMatchObject({ testType: 'eval', image: 'a', unknown: ['later'] });
  });

  it('ignores times and hashes', () => {
    expect(normalizeTimes('[PASS] "a" in 1.2s\n[FAIL] "b" in 300ms\nin 3s')).toBe(
      '[PASS] "a" in 0s\n[FAIL] "b" in 0s\nin 3s',
    );
    expect(normalizeDiff(DIFF)).not.toContain('index');
  });
});
