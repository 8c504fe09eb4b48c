import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { load, loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocks, documentBlocks } from '../document-blocks.js';
import { spawn } from '../processes.js';
import {
  cleanEnvironment,
  krmhub,
  type RunningRegistry,
  root,
  sharedData,
  startRegistry,
  temporaryFolder,
} from '../running.js';
import { type KubeApi, type KubeObject, startKubeApi } from './kube-api.js';
import { missingReason, titleWithReason } from './oci-tools.js';

/** The commands of docs/porch.md, with the real kubectl against an API that keeps objects in memory. */

const why = missingReason('kubectl');
const { folder, remove } = temporaryFolder();
const crd = path.join(sharedData, 'porch/api/porchconfig/v1alpha1/config.porch.kpt.dev_functionconfigs.yaml');

describe.skipIf(why !== undefined)(titleWithReason('Porch', why), () => {
  let registry: RunningRegistry;
  let api: KubeApi;

  beforeAll(async () => {
    for (const name of ['node_modules', 'test', 'package.json'])
      symlinkSync(path.join(root, name), path.join(folder, name));
    mkdirSync(path.join(folder, 'data'), { mode: 0o700 });
    registry = await startRegistry(path.join(folder, 'data'));
    api = await startKubeApi({
      group: 'config.porch.kpt.dev',
      version: 'v1alpha1',
      kind: 'FunctionConfig',
      plural: 'functionconfigs',
      validate: porchValidator(),
    });
    const server = { cluster: { server: api.url }, name: 'test' };
    const context = { context: { cluster: 'test', user: 'test' }, name: 'test' };
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [server],
      contexts: [context],
      users: [{ name: 'test', user: { token: 'test' } }],
    };
    writeFileSync(path.join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
  });
  afterAll(async () => {
    await registry?.stop();
    await api?.close();
    remove();
  });

  async function shell(script: string): Promise<{ code: number | null; output: string }> {
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env: cleanEnvironment(folder, {
        ...registry.env,
        KUBECONFIG: path.join(folder, 'kubeconfig'),
        PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part) => {
        output += part;
      });
    const [code] = await once(child, 'close');
    return { code, output };
  }
  const done = async (script: string) => {
    const { code, output } = await shell(script);
    expect(code, output).toBe(0);
    return output;
  };

  const expected = () =>
    (loadAll(readFileSync(path.join(folder, 'porch/function-configs.yaml'), 'utf8')) as KubeObject[]).map(
      ({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, spec] as const,
    );
  const ofCatalog = () =>
    [...api.objects].filter(([, { metadata }]) => metadata.labels?.['krmhub.dev/catalog'] === 'default');

  const [first, again, ...unknown] = documentBlocks('docs/porch.md', 'porch') as [string, string];
  const other: KubeObject = {
    apiVersion: 'config.porch.kpt.dev/v1alpha1',
    kind: 'FunctionConfig',
    metadata: { name: 'mine', namespace: 'porch-fn-system', labels: { team: 'mine' } },
    spec: { image: 'mine' },
  };

  it('applies the objects of a catalog, and changes nothing the second time', async () => {
    expect(unknown).toEqual([]);
    const document = readFileSync(path.join(root, 'docs/porch.md'), 'utf8');
    const prepared = blocks(document).filter(({ needs }) => needs === undefined);
    await done(prepared.map(({ script }) => script).join('\n'));
    api.objects.set('porch-fn-system/mine', other);
    const output = await done(first);
    expect(output).toContain('functionconfig.config.porch.kpt.dev/setlabels.functions.example.com created');
    expect(expected().length).toBe(2);
    expect(Object.fromEntries(ofCatalog().map(([name, { spec }]) => [name, spec]))).toEqual(
      Object.fromEntries(expected()),
    );
    api.changes.length = 0;
    await done(first);
    expect(api.changes).toEqual([]);
  });

  it('follows the catalog: new tags, and functions that left it', async () => {
    const yank = async (name: string) => {
      const { code, stderr } = await krmhub(['yank', name, '--reason', 'of the test'], { env: registry.env });
      expect(code, stderr).toBe(0);
    };
    const releases = JSON.parse(
      (await krmhub(['show', 'functions.example.com/SetNamespace', '-o', 'json'], { env: registry.env }))
        .stdout,
    ) as { releases: { release: string }[] };
    for (const { release } of releases.releases) await yank(`functions.example.com/SetNamespace@${release}`);
    await yank('functions.example.com/SetLabels@2.0.0');
    const before = expected();
    const catalog = async () =>
      (await (await fetch(`${registry.url}/catalogs/default/catalog.yaml`)).text()) as string;
    await expect.poll(catalog).not.toMatch(/SetNamespace|set-labels:v2/);
    api.changes.length = 0;
    await done(again);
    expect(expected()).not.toEqual(before);
    expect(api.changes).toContain('DELETE porch-fn-system/setnamespace.functions.example.com');
    expect(api.changes).toContain('PATCH porch-fn-system/setlabels.functions.example.com');
    expect(Object.fromEntries(ofCatalog().map(([name, { spec }]) => [name, spec]))).toEqual(
      Object.fromEntries(expected()),
    );
    expect(api.objects.get('porch-fn-system/mine')).toBe(other);
  });

  it('deletes nothing if the catalog has no function for Porch', async () => {
    const before = api.objects.size;
    writeFileSync(path.join(folder, 'porch/function-configs.yaml'), '');
    api.changes.length = 0;
    const { code, output } = await shell(first);
    expect([code, output]).toEqual([1, expect.stringContaining('no objects passed to apply')]);
    expect([api.objects.size, api.changes]).toEqual([before, []]);
  });
});

/** The schema of Porch's own CRD, where it is beside the checkout: as an API server, it refuses unknown fields. */
function porchValidator(): (object: KubeObject) => string | undefined {
  if (!existsSync(crd)) return () => undefined;
  const { spec } = load(readFileSync(crd, 'utf8')) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: object } } } }[] };
  };
  const schema = spec.versions[0]!.schema.openAPIV3Schema.properties.spec;
  const validate = new Ajv({ strict: false, validateFormats: false }).compile({
    ...schema,
    additionalProperties: false,
  });
  return (object) => (validate(object.spec) ? undefined : JSON.stringify(validate.errors));
}
