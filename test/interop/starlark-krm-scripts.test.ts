import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DEFAULT_RUN_LIMITS } from '@krmhub/functions';
import { StarlarkSession } from '@krmhub/functions/starlark/starlark-session';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { spawnSync } from '../processes.js';

/**
 * Scripts that others wrote for the Starlark function of kpt, with starlark-go as the oracle: it runs the same script
 * in a program that reads the ResourceList as JSON and prints it, as that function does around the script.
 */

const SCRIPTS = path.resolve(import.meta.dirname, '../../../shared/data/starlark/krm-scripts');
const hasOracle = spawnSync('starlark', ['-c', '0']).status === 0;
const why = !existsSync(SCRIPTS)
  ? '../shared/data is not there'
  : hasOracle
    ? undefined
    : 'starlark is not installed';
const title = (text: string) => (why === undefined ? text : `${text} (skipped: ${why})`);

const annotations = (index: string) => ({
  'internal.config.kubernetes.io/path': 'a/x.yaml',
  'internal.config.kubernetes.io/index': index,
});
const INPUT = {
  apiVersion: 'config.kubernetes.io/v1',
  kind: 'ResourceList',
  items: [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {
        name: 'my-nginx',
        namespace: 'staging',
        labels: { app: 'nginx' },
        annotations: { ...annotations('0'), 'last-applied': '{"spec": {"replicas": 3}}' },
      },
      spec: { replicas: 1 },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace: 'staging', labels: {}, annotations: annotations('1') },
      spec: { limit: 0.5, big: 12345678901, none: null, on: true },
    },
    ...[
      ['gcloud-config.kpt.dev', { projectID: 'project', domain: 'example.com' }],
      ['kptfile.kpt.dev', { name: 'package' }],
      ['value-store', {}],
    ].map(([name, data]) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'staging', labels: {}, annotations: annotations('0') },
      data: { 'private-key': '', ...(data as object) },
    })),
  ],
  functionConfig: {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'config' },
    data: { replicas: '5' },
    params: {
      pdb: { apiVersion: 'policy/v1beta1', kind: 'PodDisruptionBudget', metadata: { name: 'nginx-pdb' } },
    },
  },
};

/**
 * starlark-go's command has neither structs nor the modules of kpt, so the oracle gets the script with other names for
 * them: `ctx["resource_list"]` and `krmfn_match_gvk`; its module json needs no load.
 */
const KRMFN = `def krmfn_match_gvk(r, api_version, kind):
    return r["apiVersion"] == api_version and r["kind"] == kind

def krmfn_match_name(r, name):
    return r["metadata"]["name"] == name

`;
const renamed = (script: string) =>
  script
    .replaceAll(/^load\(.*$/gm, '')
    .replaceAll(/\bctx\.(\w+)/g, 'ctx["$1"]')
    .replaceAll('krmfn.', 'krmfn_');

describe.skipIf(why !== undefined)(title('scripts for kpt, and starlark-go'), () => {
  let folder: string;
  const session = new StarlarkSession();
  beforeAll(() => {
    folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'krmhub-starlark-')));
  });
  afterAll(() => {
    session.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Returns the items, or the message of the error. */
  function oracle(script: string): unknown {
    const schemas =
      '{"definitions": {"io.k8s.api.apps.v1.Deployment": {"x-kubernetes-group-version-kind": [{"kind": "Deployment"}]}}}';
    const prelude = `_in = json.decode(${JSON.stringify(JSON.stringify(INPUT))})
ctx = {"resource_list": _in, "open_api": json.decode(${JSON.stringify(schemas)}), "environment": {}}
_encode = json.encode
${KRMFN}`;
    writeFileSync(
      path.join(folder, 'main.star'),
      `${prelude}${renamed(script)}\nprint("RESULT" + _encode(ctx["resource_list"]["items"]))\n`,
    );
    const { stderr } = spawnSync('starlark', ['-globalreassign', '-recursion', 'main.star'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const result = /^RESULT(.*)$/m.exec(stderr)?.[1];
    return result === undefined ? failure(stderr) : JSON.parse(result);
  }

  async function ours(script: string): Promise<unknown> {
    const task = { name: 'main.star', script: Buffer.from(script) };
    const input = Buffer.from(JSON.stringify(INPUT));
    const { exitCode, output, results } = await session.run(task, input, DEFAULT_RUN_LIMITS);
    if (exitCode !== 0) return failure(results[0]!.message);
    return (parse(Buffer.from(output).toString()) as { items: unknown }).items;
  }

  it.each(why === undefined ? readdirSync(SCRIPTS) : [])('%s gives the same', async (name) => {
    const script = readFileSync(path.join(SCRIPTS, name), 'utf8');
    expect(await ours(script)).toEqual(oracle(script));
  });

  it('compares something: most scripts succeed, and those with a syntax error fail', async () => {
    const outcomes = await Promise.all(
      readdirSync(SCRIPTS).map((name) => ours(readFileSync(path.join(SCRIPTS, name), 'utf8'))),
    );
    expect(outcomes.filter((one) => Array.isArray(one)).length).toBeGreaterThanOrEqual(20);
    expect(outcomes.filter((one) => typeof one === 'string')).toEqual(
      expect.arrayContaining(['got newline, want primary expression']),
    );
  });
});

/** The message without the position, which is another one in the program of the oracle. */
function failure(text: string): string {
  const lines = text.trim().split('\n');
  return (lines.findLast((line) => line !== '') ?? '')
    .replace(/^.*?\.star:\d+:\d+: /, '')
    .replace(/^Error(?: in \w+)?: /, '');
}
