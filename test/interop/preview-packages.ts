import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Random } from '@krmhub/yaml/testing/random';
import { fixtures, sharedData } from '../running.js';
import { adding } from './function-images.js';
import { randomResource } from './yaml-documents.js';

/** Packages whose function has two releases, to compare a preview of its upgrade with real builds. */

export const RUNTIMES = ['starlark', 'exec', 'container'] as const;
export type PreviewRuntime = (typeof RUNTIMES)[number];
/** Kinds of the functions, by runtime. */
export const KINDS = { starlark: 'SetByScript', exec: 'SetByProgram', container: 'SetByImage' } as const;

export interface PreviewPackage {
  /** Where its resources come from. */
  source: string;
  name: string;
  type: 'kustomization' | 'Composition' | 'Kptfile' | 'folder';
  runtime: PreviewRuntime;
  /** By path in the package. */
  files: Record<string, string>;
}

const ADDED = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: added\ndata:\n  release: "2"\n';
const annotate = (release: string) =>
  `sed -e 's|^    annotations:$|    annotations:\\n      release: "${release}"|'`;

/** The first and the second release of each function. */
export const RELEASES: Record<PreviewRuntime, readonly [string, string]> = {
  starlark: [script('1', ''), script('2', SECOND())],
  exec: [`#!/bin/sh\n${annotate('1')}\n`, `#!/bin/sh\n${annotate('2')} | (${adding(ADDED)})\n`],
  container: [annotate('1'), `${annotate('2')} | (${adding(ADDED)})`],
};

function script(release: string, more: string): string {
  return `
items = ctx.resource_list["items"]
for item in items:
    annotations = item["metadata"].get("annotations") or {}
    annotations["release"] = "${release}"
    item["metadata"]["annotations"] = annotations
ctx.resource_list["results"] = [{"message": "release ${release}", "severity": "info"}]
${more}`;
}

function SECOND(): string {
  return `
kept = [item for item in items if not item["metadata"]["name"].startswith("gone")]
for item in kept:
    if item["kind"] == "Deployment" and "replicas" in item.get("spec", {}):
        item["spec"]["replicas"] += 1
    if item["kind"] == "Anything":
        item["metadata"]["labels"] = {"tier": "back"}
ctx.resource_list["items"] = kept + [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "added"}, "data": {"a": "b"}}]
`;
}

/** The files of a package around its resources. */
function packageFiles(
  type: PreviewPackage['type'],
  kind: string,
  resources: Record<string, string>,
): Record<string, string> {
  const config = `apiVersion: example.com/v1\nkind: ${kind}\nmetadata:\n  name: set\n`;
  if (type === 'Composition') {
    const module = `- apiVersion: example.com/v1\n  kind: ${kind}\n  metadata: {name: set}\n`;
    return { 'composition.yaml': `kind: Composition\nmodules:\n${module}` };
  }
  if (type === 'kustomization') {
    const names = Object.keys(resources).map((name) => `- ${name}\n`);
    return {
      ...resources,
      'fn.yaml': config,
      'kustomization.yaml': `resources:\n${names.join('')}transformers:\n- fn.yaml\n`,
    };
  }
  if (type === 'folder') return { ...resources, 'fn.yaml': config };
  const kptfile = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n';
  return {
    ...resources,
    'fn.yaml': config,
    Kptfile: `${kptfile}pipeline:\n  mutators:\n  - configPath: fn.yaml\n`,
  };
}

const TYPES = ['kustomization', 'Kptfile', 'folder'] as const;

/** Resources of a seed in all notations of YAML, with a Deployment. */
function generated(seed: number): Record<string, string> {
  const random = new Random(seed);
  const names = Array.from(
    { length: 2 + random.below(5) },
    (_, at) => `${random.pick(['kept', 'gone'])}-${at}`,
  );
  const deployment = (name: string) =>
    `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ${name}\nspec:\n  replicas: ${random.below(9)}\n`;
  // kustomize cannot build what has an empty key.
  const resource = (name: string): string => {
    const text = randomResource(random, name);
    return /(?:""|'') ?:/.test(text) ? resource(name) : text;
  };
  const files = names.map((name): [string, string] => [`${name}.yaml`, resource(name)]);
  return Object.fromEntries([...files, ['web.yaml', `${deployment('web')}---\n${deployment('gone-web')}`]]);
}

/** The resources of a folder of packages of others: files of resources, and no functionConfigs of kustomize. */
function resourcesBelow(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter((name) => !/(?:^|\/)\.|kustomization|fn-?config/.test(name));
  return Object.fromEntries(
    files.sort().flatMap((name) => {
      const text = readFileSync(path.join(folder, name), 'utf8');
      const isResources = text
        .split(/^---$/m)
        .every((part) => /^kind: /m.test(part) && /^ {2}name: /m.test(part));
      return isResources && !/[{][{]/.test(text) ? [[name.replaceAll('/', '-'), text]] : [];
    }),
  );
}

/** Of one source: each is built six times. */
const MAX_CORPUS = 12;

function corpus(source: string, folder: string, offset: number): PreviewPackage[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const found = names.flatMap(({ name }, at) => {
    const resources = resourcesBelow(path.join(folder, name));
    if (Object.keys(resources).length === 0) return [];
    const runtime = RUNTIMES[(at + offset) % 3]!;
    // Names can be equal in several files, which kustomize refuses.
    const type = 'Kptfile';
    return [{ source, name, type, runtime, files: packageFiles(type, KINDS[runtime], resources) } as const];
  });
  return found.slice(0, MAX_CORPUS);
}

/** All packages; those of ../shared/data if that exists. */
export function previewPackages(): PreviewPackage[] {
  const random = Array.from({ length: 27 }, (_, seed): PreviewPackage => {
    const type = TYPES[seed % 3]!;
    const runtime = RUNTIMES[Math.floor(seed / 3) % 3]!;
    const files = packageFiles(type, KINDS[runtime], generated(seed));
    return { source: 'generated', name: `seed-${seed}`, type, runtime, files };
  });
  const compositions = RUNTIMES.map((runtime): PreviewPackage => {
    const files = packageFiles('Composition', KINDS[runtime], {});
    return { source: 'generated', name: `composition-${runtime}`, type: 'Composition', runtime, files };
  });
  return [
    ...random,
    ...compositions,
    ...corpus('`test/fixtures`', fixtures, 0),
    ...corpus('kpt `fn-render`', path.join(sharedData, 'kpt-e2e/fn-render'), 0),
    ...corpus('kpt `fn-eval`', path.join(sharedData, 'kpt-e2e/fn-eval'), 1),
  ];
}
