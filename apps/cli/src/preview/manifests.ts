import { lineDiff } from '@krmhub/functions/output/line-diff';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import {
  annotation,
  type ResourceNode,
  readResources,
  resourceIdentity,
  type SequenceIndent,
  writeDocument,
} from '@krmhub/schema/resource-yaml';
import type { SecretHider } from './hide-secrets.js';
import type { RenderCommand, Rendering } from './render-package.js';
import { differentPaths, markUnstable, pathText, type ValuePath } from './unstable-values.js';

const LOCAL_CONFIG = 'config.kubernetes.io/local-config';

export interface ManifestIdentity {
  /** The command that gives it. */
  command: RenderCommand;
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  /** It is for kpt or kustomize only, and not applied to a cluster. */
  isLocal?: true;
}

export interface ManifestChange extends ManifestIdentity {
  type: 'added' | 'removed' | 'changed';
  /** As in a unified diff. Empty if only the notation of a Secret changed. */
  diff: string[];
}

/** A resource that is another one each time, with one and the same lock. */
export interface UnstableManifest extends ManifestIdentity {
  /** Where it differs; empty if it is not in each output, or differs as a whole. */
  fields: string[];
}

export interface ManifestChanges {
  /** In the order of the output. */
  changes: ManifestChange[];
  unstable: UnstableManifest[];
  /** Resources before and after. */
  before: number;
  after: number;
  /** Resources that both have come in another order. */
  isReordered: boolean;
}

interface Manifest extends ManifestIdentity {
  /** Which of several resources that are called the same. */
  key: string;
  text: string;
  node: ResourceNode;
  seqIndent: SequenceIndent;
}

/** Both outputs, and those of a second run with the same lock if there was one. */
export interface ComparedOutputs {
  before: readonly Rendering['outputs'][];
  after: readonly Rendering['outputs'][];
}

/** Compares what is rendered, resource by resource. What differs between runs with one lock is left out. */
export function compareManifests({ before, after }: ComparedOutputs, hider: SecretHider): ManifestChanges {
  const sides = [before, after].map((runs) => runs.map(readManifests)) as [Manifest[][], Manifest[][]];
  const unstable = new Map([...findUnstable(sides[0]), ...findUnstable(sides[1])]);
  for (const one of sides.flat(2)) {
    const found = unstable.get(one.key);
    if (found !== undefined) hide(one, () => markUnstable(one.node, found.paths));
  }
  const [old, now] = sides.map(([first = []]) => first) as [Manifest[], Manifest[]];
  const [wasRaw, isRaw] = [byKey(old), byKey(now)];
  const raw = new Map([...old, ...now].map((one) => [one, one.text]));
  for (const one of [...old, ...now]) {
    if (hider.hide(one.node)) one.text = writeDocument(one.node, one);
  }
  for (const one of [...old, ...now]) {
    if (hider.inValues(one.node)) one.text = writeDocument(one.node, one);
    one.text = hider.inResource(one.text);
  }
  const changes: ManifestChange[] = [];
  const add = (type: ManifestChange['type'], one: Manifest, was = '', is = '') =>
    changes.push({ type, ...shown(one, hider), diff: lineDiff(was, is) });
  const isWhole = ({ key }: Manifest) => unstable.get(key)?.paths.length === 0;
  for (const one of now.filter((each) => !isWhole(each))) {
    const was = wasRaw.get(one.key);
    if (was === undefined) add('added', one, '', one.text);
    else if (raw.get(was) !== raw.get(one)) add('changed', one, was.text, one.text);
  }
  for (const one of old) if (!isRaw.has(one.key) && !isWhole(one)) add('removed', one, one.text);
  const common = (list: Manifest[], other: ReadonlyMap<string, Manifest>) =>
    list.flatMap(({ key }) => (other.has(key) && !unstable.has(key) ? [key] : [])).join('\n');
  // What changes in the cluster comes first.
  changes.sort((a, b) => Number(a.isLocal === true) - Number(b.isLocal === true));
  return {
    changes,
    unstable: [...unstable.values()].map(({ one, paths }) => ({
      ...shown(one, hider),
      fields: paths.map((path) => hider.inResource(pathText(path))),
    })),
    before: old.length,
    after: now.length,
    isReordered: common(old, isRaw) !== common(now, wasRaw),
  };
}

function hide(manifest: Manifest, change: () => void): void {
  change();
  manifest.text = writeDocument(manifest.node, manifest);
}

function shown(manifest: Manifest, hider: SecretHider): ManifestIdentity {
  const { command, apiVersion, kind, namespace, name, isLocal } = manifest;
  return {
    command,
    apiVersion,
    kind,
    ...defined({ namespace }),
    name: hider.inResource(name),
    ...defined({ isLocal }),
  };
}

function byKey(manifests: readonly Manifest[]): Map<string, Manifest> {
  return new Map(manifests.map((one) => [one.key, one]));
}

interface Unstable {
  one: Manifest;
  /** Where it differs; empty for the whole. */
  paths: ValuePath[];
}

/** Finds what differs between two runs with one lock. */
function findUnstable([first = [], second]: Manifest[][]): [string, Unstable][] {
  if (second === undefined) return [];
  const [one, other] = [byKey(first), byKey(second)];
  return [...new Set([...one.keys(), ...other.keys()])].flatMap((key): [string, Unstable][] => {
    const [a, b] = [one.get(key), other.get(key)];
    if (a === undefined || b === undefined) return [[key, { one: (a ?? b)!, paths: [] }]];
    if (a.text === b.text) return [];
    const paths = differentPaths(a.node, b.node);
    return [[key, { one: a, paths: paths.some((path) => path.length === 0) ? [] : paths }]];
  });
}

function readManifests(outputs: Rendering['outputs']): Manifest[] {
  const counts = new Map<string, number>();
  return outputs.flatMap(({ command, text }) =>
    readDocuments(command, text).map(({ node, text: part, seqIndent }): Manifest => {
      const { namespace, ...identity } = resourceIdentity(node);
      const isLocal = isForTools(node, identity) ? (true as const) : undefined;
      const named = { command, ...identity, ...defined({ namespace: namespace || undefined, isLocal }) };
      const base = JSON.stringify([command, identity, namespace]);
      const count = counts.get(base) ?? 0;
      counts.set(base, count + 1);
      return { ...named, key: `${base} ${count}`, text: part, node, seqIndent };
    }),
  );
}

/** A kustomization may have no kind. */
function isForTools(node: ResourceNode, { apiVersion, kind }: { apiVersion: string; kind: string }): boolean {
  const local = annotation(node, LOCAL_CONFIG);
  const isMarked = local !== undefined && local !== 'false';
  return isMarked || kind === '' || /^(?:kpt\.dev|kustomize\.config\.k8s\.io)\//.test(apiVersion);
}

function readDocuments(command: RenderCommand, text: string): ReturnType<typeof readResources> {
  try {
    return readResources(text, 'output');
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    throw new KrmhubError(error.code, `cannot compare what krmhub ${command} gives: ${error.message}`, {
      cause: error,
    });
  }
}
