import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { finished, spawn } from '../processes.js';
import { replicasMissing } from '../replicas/missing.js';
import { cleanEnvironment, type Finished, root, temporaryFolder } from '../running.js';

/** Runs `npm run oci-conformance` with stand-ins for the suite, which write the same result files. */

const { folder, remove } = temporaryFolder();
afterAll(remove);
const INSTALL =
  'go install github.com/opencontainers/distribution-spec/conformance@v0.0.0-20260831232431-97274622c111';

let made = 0;
/** A program in a new folder; it writes its arguments and environment to `seen.json` beside it. */
function standIn(...lines: string[]): { program: string; seen: () => Seen } {
  made += 1;
  const place = path.join(folder, `suite-${made}`);
  mkdirSync(place);
  const program = path.join(place, 'conformance');
  const seen = path.join(place, 'seen.json');
  const text = [
    `#!${process.execPath}`,
    "const { readdirSync, writeFileSync } = require('node:fs');",
    'const { env } = process;',
    "const OCI = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('OCI_')));",
    "const write = (name, text) => writeFileSync(env.OCI_RESULTS_DIR + '/' + name, text);",
    "const password = Buffer.from(env.OCI_USERNAME + ':' + env.OCI_PASSWORD).toString('base64');",
    "const headers = { authorization: 'Basic ' + password };",
    "const ask = (method, target) => fetch('http://' + env.OCI_REGISTRY + target, { method, headers });",
    '(async () => {',
    "  const { status: base } = await ask('GET', '/v2/');",
    "  const { status: push } = await ask('POST', '/v2/' + env.OCI_REPO1 + '/blobs/uploads/');",
    `  writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ OCI, base, push, beside: readdirSync('.') }));`,
    ...lines,
    '})();',
  ].join('\n');
  writeFileSync(program, text);
  chmodSync(program, 0o755);
  return { program, seen: () => JSON.parse(readFileSync(seen, 'utf8')) };
}

interface Seen {
  OCI: Record<string, string>;
  base: number;
  push: number;
  beside: string[];
}

function results(statuses: readonly string[]): string[] {
  const cases = statuses.map(
    (status, number) =>
      `<testcase name="OCI/test ${number}" classname="OCI" status="${status}"><system-out>&lt;testcase status=</system-out></testcase>`,
  );
  const junit = `<testsuites><testsuite name="OCI" tests="${cases.length}">${cases.join('\n')}</testsuite></testsuites>`;
  return ["write('results.yaml', 'counts: {}');", `write('junit.xml', ${JSON.stringify(junit)});`];
}

async function run(env: Record<string, string>, ...args: string[]): Promise<Finished & { last: string }> {
  // Files that it leaves behind would be here.
  const temporary = mkdtempSync(path.join(folder, 'temporary-'));
  const child = spawn(process.execPath, [path.join(root, 'scripts/oci-conformance.mjs'), ...args], {
    env: cleanEnvironment(folder, { TMPDIR: temporary, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { code, stdout, stderr } = await finished(child);
  expect(readdirSync(temporary).filter((name) => name.startsWith('krmhub-conformance-'))).toEqual([]);
  return { code, stdout, stderr, last: stdout.trimEnd().split('\n').at(-1)! };
}

async function isStopped({ OCI }: Seen): Promise<boolean> {
  return fetch(`http://${OCI.OCI_REGISTRY}/v2/`).then(
    () => false,
    () => true,
  );
}

describe('npm run oci-conformance', () => {
  it('is the command of the script with that name', () => {
    const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    expect(scripts['oci-conformance']).toBe('node scripts/oci-conformance.mjs');
  });

  it('prints how to install a missing suite, and exits with 2', async () => {
    const finished = await run({ PATH: folder });
    expect(finished).toMatchObject({ code: 2, stdout: '' });
    expect(finished.stderr).toContain(INSTALL);
  });

  it('reports that OCI_CONFORMANCE is not a program', async () => {
    const { code, stderr } = await run({ OCI_CONFORMANCE: path.join(folder, 'nothing') });
    expect(code).toBe(2);
    expect(stderr).toContain(path.join(folder, 'nothing'));
    expect(stderr).toContain(INSTALL);
  });

  it.each([['--version', '2.0'], ['--seconds', 'soon'], ['--processes', 'two'], ['--other']])(
    'refuses %s %s and prints the usage',
    async (...args) => {
      const { code, stderr } = await run({}, ...args.filter((argument) => argument !== undefined));
      expect(code).toBe(2);
      expect(stderr).toContain('Usage: npm run oci-conformance');
    },
  );

  it('gives the suite a running registry, its address and credentials', async () => {
    const { program, seen } = standIn(...results(['passed', 'passed', 'skipped']));
    const env = { OCI_CONFORMANCE: program, OCI_ROOT_URL: 'http://other.example.com', OCI_LOG: 'debug' };
    const finished = await run(env);
    expect(finished, finished.stderr).toMatchObject({ code: 0, last: '2 passed, 0 failed, 1 skipped' });
    expect(finished.stderr).toContain('skipped: OCI/test 2');
    const { OCI, base, push, beside } = seen();
    expect({ base, push, beside }).toEqual({ base: 200, push: 202, beside: [] });
    expect(OCI).toEqual({
      OCI_REGISTRY: expect.stringMatching(/^(127\.0\.0\.1|localhost):\d+$/),
      OCI_TLS: 'disabled',
      OCI_REPO1: 'conformance/one',
      OCI_REPO2: 'conformance/two',
      OCI_USERNAME: 'conformance',
      OCI_PASSWORD: expect.stringMatching(/^krmhub_[a-f0-9]{72}$/),
      OCI_VERSION: '1.1',
      OCI_RESULTS_DIR: expect.stringContaining('krmhub-conformance-'),
    });
    expect(existsSync(OCI.OCI_RESULTS_DIR!)).toBe(false);
    expect(await isStopped(seen())).toBe(true);
  });

  it('finds the suite on PATH, and tests the next specification on request', async () => {
    const { program, seen } = standIn(...results(['passed']));
    const env = { PATH: `${path.dirname(program)}:${process.env.PATH}` };
    const finished = await run(env, '--version', 'dev');
    expect(finished, finished.stderr).toMatchObject({ code: 0, last: '1 passed, 0 failed, 0 skipped' });
    expect(seen().OCI.OCI_VERSION).toBe('dev');
  });

  it.skipIf(replicasMissing)(
    'gives the suite several processes on request (needs PostgreSQL and versitygw)',
    async () => {
      const { program, seen } = standIn(...results(['passed']));
      // The user of PostgreSQL can read this folder.
      const env = { OCI_CONFORMANCE: program, TMPDIR: process.env.TMPDIR! };
      const finished = await run(env, '--processes', '2');
      expect(finished, finished.stderr).toMatchObject({ code: 0, last: '1 passed, 0 failed, 0 skipped' });
      expect(seen()).toMatchObject({ base: 200, push: 202 });
      expect(await isStopped(seen())).toBe(true);
    },
  );

  it('reports what several processes need, and exits with 2', async () => {
    const { program } = standIn(...results(['passed']));
    const { code, stderr } = await run({ OCI_CONFORMANCE: program, PATH: folder }, '--processes', '2');
    expect([code, stderr]).toEqual([2, expect.stringContaining('need PostgreSQL and versitygw')]);
  });

  it.each(['failure', 'error', 'other'])('fails if a test reports %s, and names it', async (status) => {
    const { program, seen } = standIn(...results(['passed', status, 'skipped']), 'process.exitCode = 1;');
    const finished = await run({ OCI_CONFORMANCE: program });
    expect(finished).toMatchObject({ code: 1, last: '1 passed, 1 failed, 1 skipped' });
    expect(finished.stderr).toContain('failed: OCI/test 1');
    expect(await isStopped(seen())).toBe(true);
  });

  it.each([
    ['nothing', []],
    ['one of them', results(['passed']).slice(0, 1)],
  ])('fails if the suite wrote %s of its results, although it exited with 0', async (_, lines) => {
    const { program, seen } = standIn(...lines);
    const finished = await run({ OCI_CONFORMANCE: program });
    expect(finished).toMatchObject({ code: 1, stdout: '' });
    expect(finished.stderr).toContain('junit.xml');
    expect(await isStopped(seen())).toBe(true);
  });

  it.each([
    ['nothing passed', results(['skipped']), '0 passed, 0 failed, 1 skipped'],
    ['it ended badly', [...results(['passed']), 'process.exitCode = 3;'], '1 passed, 0 failed, 0 skipped'],
  ])('fails if no test failed and %s', async (_, lines, last) => {
    const { program } = standIn(...lines);
    expect(await run({ OCI_CONFORMANCE: program })).toMatchObject({ code: 1, last });
  });

  it('stops a suite that takes too long, and its registry', async () => {
    const { program, seen } = standIn('setInterval(() => undefined, 1000);');
    const finished = await run({ OCI_CONFORMANCE: program }, '--seconds', '2');
    expect(finished).toMatchObject({ code: 1, stdout: '' });
    expect(finished.stderr).toContain('did not exit within 2 seconds');
    expect(await isStopped(seen())).toBe(true);
  });

  it('stops the suite and the registry on SIGTERM', async () => {
    const { program, seen } = standIn(
      'setInterval(() => undefined, 1000);',
      "process.kill(process.ppid, 'SIGTERM');",
    );
    expect(await run({ OCI_CONFORMANCE: program })).toMatchObject({ code: 143, stdout: '' });
    await expect.poll(() => isStopped(seen())).toBe(true);
  });
});
