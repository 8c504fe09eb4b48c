import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definitionText } from '../../apps/registry/src/testing/test-registry.js';
import { finished, spawn, spawnSync } from '../processes.js';
import { krmhub, type RunningRegistry, root, startRegistry, temporaryFolder } from '../running.js';
import { missingReason, titleWithReason } from './oci-tools.js';

const whyNot = missingReason('renovate');
const kind = 'SetLabels';
const image = 'registry.example.com/setlabels';
const digestOf = (release: string) => sha256(release);

interface Report {
  repositories: {
    local: {
      packageFiles: Record<
        string,
        { packageFile: string; deps: { updates: { updateType: string; newValue: string }[] }[] }[]
      >;
    };
  };
}

describe.skipIf(whyNot !== undefined)(titleWithReason('Renovate', whyNot), () => {
  const { folder, remove } = temporaryFolder();
  const repository = path.join(folder, 'repository');
  let registry: RunningRegistry;

  const file = (name: string) => path.join(repository, name);
  const write = (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(file(name)), { recursive: true });
      writeFileSync(file(name), text);
    }
    const git = (...args: string[]) =>
      expect(
        spawnSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
          cwd: repository,
        }).status,
      ).toBe(0);
    git('init', '--quiet');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'files');
  };

  /** Runs Renovate on the repository, and returns the proposed values by file. */
  async function renovate(env: Record<string, string> = {}): Promise<Record<string, string[][]>> {
    const report = path.join(folder, 'report.json');
    writeFileSync(report, '');
    const child = spawn('renovate', ['--platform=local'], {
      cwd: repository,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        RENOVATE_REPORT_TYPE: 'file',
        RENOVATE_REPORT_PATH: report,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout, stderr } = await finished(child);
    if (code !== 0) throw new Error(stdout + stderr);
    const { packageFiles } = (JSON.parse(readFileSync(report, 'utf8')) as Report).repositories.local;
    const proposed: Record<string, string[][]> = {};
    for (const { packageFile, deps } of Object.values(packageFiles).flat()) {
      if (packageFile === 'renovate.json') continue;
      const values = deps.map(({ updates }) =>
        updates.map(({ updateType, newValue }) => `${updateType} ${newValue}`),
      );
      proposed[packageFile] = [...(proposed[packageFile] ?? []), ...values];
    }
    return proposed;
  }

  /** Makes the newest updates in the files, as Renovate does for a pull request. */
  function apply(): void {
    const program = spawnSync('sh', ['-c', 'command -v renovate'], { encoding: 'utf8' }).stdout.trim();
    const modules = path.join(path.dirname(program), 'node_modules/renovate/dist');
    const node = /exec "([^"]+)"/.exec(readFileSync(program, 'utf8'))![1]!;
    const script = path.join(root, 'test/interop/apply-renovate.mjs');
    const { status, stderr } = spawnSync(
      node,
      [script, modules, repository, path.join(folder, 'report.json')],
      {
        encoding: 'utf8',
      },
    );
    expect(status, stderr).toBe(0);
  }

  const admin = (args: string[]) => krmhub(args, { cwd: folder, env: registry.env });

  async function publish(release: string): Promise<void> {
    const text = definitionText({ kind, release }).replace(
      /sha256: .*/,
      `sha256: ${digestOf(release).slice(7)}`,
    );
    writeFileSync(path.join(folder, `${release}.yaml`), text);
    const { code, stderr } = await admin(['publish', `${release}.yaml`, '--allow-breaking']);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
  }

  beforeAll(async () => {
    registry = await startRegistry(path.join(folder, 'data'));
    for (const release of ['1.0.0', '1.1.0', '1.2.0', '1.3.0', '2.0.0', '3.0.0-rc.1']) await publish(release);
    await admin(['yank', `example.com/${kind}@1.3.0`, '--reason', 'bad']);
    await admin(['deprecate', `example.com/${kind}@1.2.0`, '--reason', 'old']);
    write({
      'renovate.json': JSON.stringify({ extends: [`${registry.url}/renovate.json`] }),
      'app/kustomization.yaml': `catalogs:
- ${registry.url}/catalogs/default/snapshots/2/catalog.yaml
transformers:
- labels.yaml
- pinned.yaml
`,
      'app/labels.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: "~1.0"
---
kind: ${kind}
metadata:
  annotations:
    krmhub.dev/release: "~1.0"
apiVersion: example.com/v1
`,
      'app/krmhub.yaml': `apiVersion: krmhub.dev/v1alpha1
kind: PackageSettings
minAge: 72h
functions:
- {release: ~1.0, kind: ${kind}, group: example.com}
- {kind: Other, release: ~1.0}
`,
      'app/pinned.yaml': `apiVersion: example.com/v1
kind: ${kind}
metadata:
  name: team
  annotations:
    config.kubernetes.io/function: |
      container:
        image: ${image}:v1.0.0@${digestOf('1.0.0')}
spec:
  image: ${image}:v1.0.0
`,
      'package/Kptfile': `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: package
pipeline:
  mutators:
    - image: ${image}:v1.0.0
      configPath: labels.yaml # the team
    - image: ${image}@${digestOf('1.0.0')} # v1.0.0
    - image: ${image}:v1.2.0
    - image: ${image}
      tag: ~1.0
`,
    });
  });
  afterAll(async () => {
    await registry?.stop();
    remove();
  });

  it('proposes releases that are neither yanked, deprecated, nor a pre-release, and writes them', async () => {
    const newest = ['minor v1.1.0', 'major v2.0.0'];
    const proposed = await renovate();
    const snapshots = proposed['app/kustomization.yaml']!;
    expect(snapshots).toEqual([[expect.stringMatching(/^major \d+$/)]]);
    expect(proposed).toEqual({
      'app/kustomization.yaml': snapshots,
      'app/krmhub.yaml': [['minor ~1.1.0', 'major ~2.0.0']],
      'app/labels.yaml': [['minor ~1.1.0', 'major ~2.0.0']],
      'app/pinned.yaml': [newest],
      'package/Kptfile': [newest, ['major v2.0.0'], newest, ['minor ~1.1.0', 'major ~2.0.0']],
    });
    apply();
    expect(readFileSync(file('app/kustomization.yaml'), 'utf8')).toContain(
      `/catalogs/default/snapshots/${snapshots[0]![0]!.split(' ')[1]}/catalog.yaml\n`,
    );
    const labels = readFileSync(file('app/labels.yaml'), 'utf8');
    expect(labels).toContain('name: "~1.0"');
    expect(labels).toContain('krmhub.dev/release: "~2.0.0"');
    expect(readFileSync(file('app/krmhub.yaml'), 'utf8')).toContain(
      `- {release: ~2.0.0, kind: ${kind}, group: example.com}\n- {kind: Other, release: ~1.0}\n`,
    );
    const pinned = readFileSync(file('app/pinned.yaml'), 'utf8');
    expect(pinned).toContain(
      `        image: ${image}:v2.0.0@${digestOf('2.0.0')}\nspec:\n  image: ${image}:v1.0.0\n`,
    );
    const steps = readFileSync(file('package/Kptfile'), 'utf8').split('mutators:\n')[1];
    expect(steps).toBe(`    - image: ${image}:v2.0.0
      configPath: labels.yaml # the team
    - image: ${image}@${digestOf('2.0.0')} # v2.0.0
    - image: ${image}:v2.0.0
    - image: ${image}
      tag: ~2.0.0
`);
    expect(await renovate()).toMatchObject({ 'package/Kptfile': [[], [], [], []], 'app/pinned.yaml': [[]] });
  });

  it('reads a private registry with a token', async () => {
    writeFileSync(
      path.join(folder, 'access.yaml'),
      `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  groups:
  - {pattern: example.com, visibility: internal}
`,
    );
    const { code, stderr } = await admin(['access', 'apply', 'access.yaml', '--yes']);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    write({ 'app/labels.yaml': readFileSync(file('app/labels.yaml'), 'utf8').replace('~2.0.0', '~1.0') });
    const labels = async (env?: Record<string, string>) => (await renovate(env))['app/labels.yaml'];
    expect(await labels()).toEqual([[]]);
    const { stdout } = await admin(['token', 'create', 'renovate', '--scope', 'read', '-o', 'json']);
    const { token } = JSON.parse(stdout) as { token: string };
    const rules = [{ matchHost: registry.url, token }];
    expect(await labels({ RENOVATE_HOST_RULES: JSON.stringify(rules) })).toEqual([
      ['minor ~1.1.0', 'major ~2.0.0'],
    ]);
  });
});
