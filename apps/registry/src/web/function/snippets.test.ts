import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

const execute = promisify(execFile);
const isInstalled = (program: string, ...args: string[]) =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0;
const kubectl = isInstalled('kubectl', 'version', '--client');
const kpt = isInstalled('kpt', 'version');
const IMAGE = `registry.example.com/setlabels@sha256:${'a'.repeat(64)}`;

let registry: TestRegistry;
let folder: string;
let env: NodeJS.ProcessEnv;
/** By the ID of the heading above them. */
let snippets: Map<string, string[]>;

beforeAll(async () => {
  registry = await openTestRegistry({ config: { publicUrl: 'https://krm.example.com' } });
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  const response = await registry.request('/functions/example.com/SetLabels');
  snippets = listSnippets(await response.text());
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-snippets-'));
  // Replaces docker: records its arguments, and copies its input to its output.
  const docker = `#!/bin/sh\necho "$*" >> "${folder}/calls"\n[ "$1" = version ] && echo 27.0.0\n[ "$1" = run ] && exec cat\nexit 0\n`;
  await writeFile(path.join(folder, 'docker'), docker, { mode: 0o755 });
  env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, HOME: folder };
  await writeFile(path.join(folder, 'set-labels.yaml'), snippets.get('use-config')![0]!);
  await writeFile(
    path.join(folder, 'config-map.yaml'),
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
  );
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true, force: true });
});

/** Returns what the copy button of the page copies. */
function listSnippets(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const entities: Record<string, string> = {
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#39;': "'",
    '&amp;': '&',
  };
  const ids = [...text.matchAll(/ id="(use-\w+)"/g)].map(([, id = '']) => id);
  const sections = text.split(/<div (?:class="choice-panel"|id="use-config")>/).slice(1);
  for (const [at, id] of ids.entries()) {
    const section = sections[at]!.replace(/<\/section>.*/s, '');
    const codes = [...section.matchAll(/<pre tabindex="0"><code>(.*?)<\/code>/gs)].map(([, code = '']) =>
      code.replace(/<[^>]*>/g, '').replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity]!),
    );
    found.set(
      id,
      codes.map((code) => `${code}\n`),
    );
  }
  return found;
}

const lastRun = async () => (await readFile(path.join(folder, 'calls'), 'utf8')).trim().split('\n').at(-1)!;

describe('the snippets of a page', () => {
  it('exist, with the image by its digest', () => {
    expect([...snippets.keys()]).toEqual(['use-config', 'use-kustomize', 'use-kpt', 'use-krmhub']);
    expect(snippets.get('use-config')![0]).toContain(IMAGE);
    expect(snippets.get('use-config')![0]).toContain(
      '$schema=https://krm.example.com/schemas/example.com/v1/SetLabels.json',
    );
    const catalog = 'https://krm.example.com/catalogs/default';
    expect(snippets.get('use-kustomize')!.at(-1)).toBe(`krmhub build . -c ${catalog}\n`);
    expect(snippets.get('use-kpt')!.at(-1)).toBe(`krmhub kpt sync . -c ${catalog}\n`);
    expect(snippets.get('use-krmhub')).toEqual([
      `krmhub fn eval . -c ${catalog} --fn-config set-labels.yaml --dry-run\n`,
      'krmhub show example.com/SetLabels@1.0.0 --registry https://krm.example.com\n' +
        'krmhub pull krm.example.com/functions/example.com/setlabels:1.0.0 --out set-labels\n',
    ]);
  });

  it.skipIf(!kubectl)('run in the kustomize of kubectl (skipped without kubectl)', async () => {
    const [field, command] = snippets.get('use-kustomize')!;
    await writeFile(path.join(folder, 'kustomization.yaml'), `resources: [config-map.yaml]\n${field}`);
    const args = command!.trim().replace('kustomize build', 'kustomize').split(' ');
    const { stdout } = await execute('kubectl', args, { cwd: folder, env });
    expect(stdout).toContain('kind: ConfigMap');
    expect(await lastRun()).toContain(IMAGE);
    expect(await lastRun()).toContain('--network none');
    await rm(path.join(folder, 'kustomization.yaml'));
  });

  it.skipIf(!kpt)('run in kpt, once and in a pipeline (skipped without kpt)', async () => {
    const [evaluate, pipeline, render] = snippets.get('use-kpt')!;
    const head = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n';
    for (const [kptfile, command] of [
      [head, evaluate],
      [head + pipeline, render],
    ]) {
      await writeFile(path.join(folder, 'Kptfile'), kptfile!);
      const [program, ...args] = command!.trim().split(' ');
      await execute(program!, args, { cwd: folder, env });
      expect(await lastRun()).toContain(IMAGE);
    }
  });
});
