import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/** Functions that the tests try in a browser: a schema and a script each. */
export interface TriedFunction {
  kind: string;
  script: string;
  /** YAML of the properties of the schema, and of its `required`. */
  properties: string;
  required?: string;
  container?: boolean;
}

const LABELS = `labels:
  type: object
  description: Labels that every resource gets.
  minProperties: 1
  additionalProperties: {type: string, maxLength: 63}
`;

/** A schema that would have 8,000 fields or 50,000 choices, if a form made all at once. */
function part(at: number): string {
  const names = Array.from({ length: 40 }, (_, index) => `f${index}`);
  if (at % 2 === 0) return `{type: string, enum: [${names.map((name) => `${name}-${at}`).join(', ')}]}`;
  const fields = names.map((name) => `${name}: {type: string}`).join(', ');
  return `{type: object, required: [${names.join(', ')}], properties: {${fields}}}`;
}

export const TRIED: readonly TriedFunction[] = [
  {
    kind: 'SetLabels',
    properties: LABELS,
    required: '[labels]',
    script: `def set_labels(items, labels):
    for r in items:
        for key, value in labels.items():
            r["metadata"].setdefault("labels", {})[key] = value

set_labels(ctx.resource_list["items"], ctx.resource_list["functionConfig"]["labels"])
`,
  },
  {
    kind: 'SetReplicas',
    properties: `replicas: {type: integer, minimum: 1, maximum: 9, description: How many pods a Deployment has.}
strategy:
  type: object
  description: How pods are replaced.
  properties:
    type: {type: string, enum: [RollingUpdate, Recreate], default: RollingUpdate}
    maxSurge: {x-kubernetes-int-or-string: true}
paused: {type: boolean}
names: {type: array, items: {type: string}}
`,
    required: '[replicas]',
    script: `config = ctx.resource_list["functionConfig"]
changed = [r for r in ctx.resource_list["items"] if r["kind"] == "Deployment"]
for r in changed:
    r["spec"]["replicas"] = config["replicas"]
    if config.get("paused"):
        r["spec"]["paused"] = True
    if config.get("strategy"):
        r["spec"]["strategy"] = config["strategy"]
print("changed", len(changed))
ctx.resource_list["results"] = [{
    "message": "replicas set",
    "severity": "info",
    "resourceRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    "field": {"path": "spec.replicas"},
    "file": {"path": "resources.yaml"},
}]
`,
  },
  {
    kind: 'Digests',
    properties: 'prefix: {type: string}\n',
    script: `load("hash.star", "hash")
load("encoding/base64.star", "base64")
load("encoding/json.star", "json")
load("re.star", "re")

for r in ctx.resource_list["items"]:
    text = json.encode(r)
    r["metadata"].setdefault("annotations", {})["example.com/digest"] = hash.sha256(text) + hash.md5(text) + hash.sha1(text)
    r["metadata"]["annotations"]["example.com/name"] = base64.encode(re.sub("[aeiou]", "ü", r["metadata"]["name"]))
    r["metadata"]["annotations"]["example.com/kinds"] = str(len(ctx.open_api["definitions"]))
`,
  },
  {
    kind: 'AddPolicy',
    properties: 'name: {type: string}\n',
    script: `ctx.resource_list["items"].append({
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": ctx.resource_list["functionConfig"].get("name", "deny-all"), "namespace": "shop"},
    "spec": {"podSelector": {}},
})
`,
  },
  { kind: 'Refuse', properties: 'name: {type: string}\n', script: 'fail("no resource has an owner")\n' },
  {
    kind: 'Loop',
    properties: 'name: {type: string}\n',
    script: `def f():
    a = "x" * 20000000
    b = "x" * 20000000
    while a == b:
        pass
f()
`,
  },
  {
    kind: 'Allocate',
    properties: 'name: {type: string}\n',
    script: 'x = []\nwhile True:\n    x.append([1] * 1000)\n',
  },
  {
    kind: 'Huge',
    properties: Array.from({ length: 199 }, (_, at) => `part${at}: ${part(at)}\n`).join(''),
    required: `[${Array.from({ length: 199 }, (_, at) => `part${at}`).join(', ')}]`,
    script: 'print(1)\n',
  },
  { kind: 'InContainer', properties: LABELS, required: '[labels]', script: '', container: true },
];

const DIGEST = 'a'.repeat(64);

function definitionOf({ kind, properties, required, container = false }: TriedFunction): string {
  const indented = properties.trimEnd().replaceAll(/^/gm, '            ');
  const runtime = container
    ? `{container: {image: registry.example.com/labels:v1, sha256: ${DIGEST}}}`
    : '{starlark: ./main.star}';
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: try.example.com
  names: {kind: ${kind}}
  description: A function of the tests.
  publisher: Example Co
  home: https://example.com/functions
  versions:
    - name: v1
      idempotent: true
      license: Apache-2.0
      usage: https://example.com/functions/README.md
      examples: [https://example.com/functions/example.yaml]
      runtime: ${runtime}
      schema:
        openAPIV3Schema:
          type: object
          required: ${required ?? '[]'}
          properties:
            apiVersion: {type: string}
            kind: {type: string}
            metadata: {type: object}
${indented}
`;
}

export interface TrySite extends RunningRegistry {
  folder: string;
  close(): Promise<void>;
}

/** A registry with a release 1.0.0 of each function. */
export async function startTrySite(): Promise<TrySite> {
  const { folder, remove } = temporaryFolder();
  const registry = await startRegistry(path.join(folder, 'data'), { KRMHUB_REQUESTS_PER_MINUTE: '0' });
  const close = async () => {
    await registry.stop();
    remove();
  };
  for (const tried of TRIED) {
    const own = path.join(folder, tried.kind);
    mkdirSync(own, { recursive: true });
    writeFileSync(path.join(own, 'definition.yaml'), definitionOf(tried));
    if (tried.container !== true) writeFileSync(path.join(own, 'main.star'), tried.script);
    const args = ['publish', path.join(own, 'definition.yaml'), '--release', '1.0.0'];
    const { code, stdout, stderr } = await krmhub(args, { env: registry.env, cwd: folder });
    if (code !== 0) {
      await close();
      throw new Error(`cannot publish ${tried.kind}:\n${stdout}${stderr}`);
    }
  }
  return { ...registry, folder, close };
}
