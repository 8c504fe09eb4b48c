import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { load } from 'js-yaml';
import { afterAll, describe, expect, it } from 'vitest';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, root, temporaryFolder } from '../running.js';
import { missingReason, titleWithReason } from './oci-tools.js';

/** The workflow that releases krmhub: actionlint checks it, and its own commands run on files of a build. */

interface Workflow {
  jobs: Record<string, { steps: { name?: string; uses?: string; run?: string }[] }>;
}
const file = path.join(root, '.github/workflows/release.yml');
const text = readFileSync(file, 'utf8');
const workflow = load(text) as Workflow;
const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
const whyNoActionlint = missingReason('actionlint');

it.skipIf(whyNoActionlint !== undefined)(
  titleWithReason('has no problems that actionlint finds', whyNoActionlint),
  () => {
    const { status, stdout } = spawnSync('actionlint', ['-no-color', file], { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  },
);

it('uses actions of one commit only, and the Node.js of the executables', () => {
  const uses = steps.flatMap(({ uses }) => uses ?? []);
  expect(uses.length).toBeGreaterThan(0);
  for (const one of uses) expect(one).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40}$/);
  const version = /const NODE_VERSION = '([^']+)'/.exec(
    readFileSync(path.join(root, 'scripts/executables.mjs'), 'utf8'),
  );
  expect(text).toContain(`NODE_VERSION: ${version![1]}\n`);
});

describe('the files of a release', () => {
  const { folder, remove } = temporaryFolder();
  afterAll(remove);
  const script = steps.find(({ name }) => name === 'Collect the files')!.run!;
  const digest = (content: string) => createHash('sha256').update(content).digest('hex');
  const systems = { 'ubuntu-24.04': 'linux-x64', 'macos-15': 'darwin-arm64', 'macos-15-intel': 'darwin-x64' };

  /** Runs the step on what the machines built; `packages` has the content of the npm package on each. */
  function collect(name: string, packages: Record<string, string> = {}) {
    const place = path.join(folder, name);
    for (const [runner, system] of Object.entries(systems)) {
      const at = path.join(place, 'built', runner);
      mkdirSync(path.join(at, 'build/executables'), { recursive: true });
      const program = packages[runner] ?? 'the package';
      const made = { 'krmhub-0.1.0.tgz': program, [`krmhub-0.1.0-${system}`]: system };
      writeFileSync(path.join(at, 'build/krmhub-0.1.0.tgz'), program);
      writeFileSync(path.join(at, `build/executables/krmhub-0.1.0-${system}`), system);
      if (system.startsWith('linux')) writeFileSync(path.join(at, 'build/sbom.cdx.json'), '{}');
      const lines = Object.entries(made).map(([made, content]) => `${digest(content)}  ${made}\n`);
      writeFileSync(path.join(at, 'build/executables/checksums.txt'), lines.join(''));
      spawnSync('tar', ['-cf', 'built.tar', 'build'], { cwd: at });
      spawnSync('rm', ['-r', 'build'], { cwd: at });
    }
    const env = cleanEnvironment(folder, {
      GITHUB_REF_NAME: 'v0.1.0',
      GITHUB_REPOSITORY_OWNER: 'Example',
      GITHUB_OUTPUT: path.join(place, 'output'),
      OCI_REGISTRY: 'registry.example.com',
    });
    const ran = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
      cwd: place,
      env,
      encoding: 'utf8',
    });
    return { ...ran, place };
  }

  it('are one list with one digest for each', () => {
    const { status, stderr, place } = collect('same');
    expect(status, stderr).toBe(0);
    const names = [
      'krmhub-0.1.0.tgz',
      'sbom.cdx.json',
      ...Object.values(systems).map((one) => `krmhub-0.1.0-${one}`),
    ];
    expect(readdirSync(path.join(place, 'build/executables')).sort()).toEqual(
      ['checksums.txt', ...names].sort(),
    );
    const list = readFileSync(path.join(place, 'build/executables/checksums.txt'), 'utf8');
    expect(
      list
        .match(/ {2}\S+$/gm)!
        .map((name) => name.trim())
        .sort(),
    ).toEqual(names.sort());
    expect(readFileSync(path.join(place, 'output'), 'utf8')).toBe(
      'version=0.1.0\nimage=registry.example.com/example/krmhub\ncharts=registry.example.com/example/charts\n',
    );
  });

  it('are none if the machines made different npm packages', () => {
    expect(collect('different', { 'macos-15': 'another package' }).status).toBe(1);
  });
});
