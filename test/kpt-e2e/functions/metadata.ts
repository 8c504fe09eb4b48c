import { isMap, isScalar, isSeq, Scalar, YAMLMap } from 'yaml';
import {
  failed,
  ResourceList,
  type StandInFunction,
  settingsOf,
  stringAt,
  writePlain,
} from './resource-list.js';

/** set-namespace, set-labels and set-annotations of the catalog of kpt, as far as end-to-end cases use them. */

const CLUSTER_SCOPED = new Set([
  'APIService',
  'ClusterRole',
  'ClusterRoleBinding',
  'CustomResourceDefinition',
  'MutatingWebhookConfiguration',
  'Namespace',
  'PersistentVolume',
  'PriorityClass',
  'StorageClass',
  'ValidatingWebhookConfiguration',
]);

/** From this version on, set-namespace changes only kinds of Kubernetes and the names of Namespaces. */
const REPLACING = [0, 4];

export const setNamespace: StandInFunction = ({ text, tag }) => {
  const list = new ResourceList(text);
  const config = list.config;
  const settings = settingsOf(config);
  const isPackage = stringIn(config, 'metadata', 'name') === 'kptfile.kpt.dev';
  const namespace = settings.namespace ?? (isPackage ? settings.name : undefined);
  if (namespace === undefined || namespace === '') {
    return failed(list, 'input namespace cannot be empty');
  }
  if (isAtLeast(tag, REPLACING)) replaceNamespaces(list, namespace);
  else for (const item of list.items) setItemNamespace(item, namespace);
  return { stdout: list.write() };
};

function setItemNamespace(item: YAMLMap, namespace: string): void {
  if (CLUSTER_SCOPED.has(stringAt(item, ['kind']) ?? '')) return;
  setString(item, ['metadata', 'namespace'], namespace);
}

function replaceNamespaces(list: ResourceList, namespace: string): void {
  for (const item of list.items) {
    const kind = stringAt(item, ['kind']) ?? '';
    const isLocal =
      stringAt(item, ['metadata', 'annotations', 'config.kubernetes.io/local-config']) === 'true';
    if (kind === 'Namespace') setString(item, ['metadata', 'name'], namespace);
    else if (!isLocal && isOfKubernetes(item)) setItemNamespace(item, namespace);
  }
}

function isOfKubernetes(item: YAMLMap): boolean {
  const [group, version] = (stringAt(item, ['apiVersion']) ?? '').split('/');
  return version === undefined || !group!.includes('.') || group!.endsWith('.k8s.io');
}

function isAtLeast(tag: string, [major, minor]: readonly number[]): boolean {
  const found = /^v?(\d+)\.(\d+)/.exec(tag);
  if (found === null) return false;
  return Number(found[1]) > major! || (Number(found[1]) === major! && Number(found[2]) >= minor!);
}

interface FieldPath {
  kinds: readonly string[];
  path: readonly string[];
  /** Whether the field is made where it is missing. */
  create: boolean;
}

const WORKLOADS = ['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'];
const TEMPLATE = ['spec', 'template', 'metadata'];
const CRON_TEMPLATE = ['spec', 'jobTemplate', 'spec', 'template', 'metadata'];

const LABEL_PATHS: readonly FieldPath[] = [
  { kinds: ['Service', 'ReplicationController'], path: ['spec', 'selector'], create: false },
  { kinds: WORKLOADS, path: ['spec', 'selector', 'matchLabels'], create: true },
  {
    kinds: ['Job', 'PodDisruptionBudget'],
    path: ['spec', 'selector', 'matchLabels'],
    create: false,
  },
  { kinds: ['NetworkPolicy'], path: ['spec', 'podSelector', 'matchLabels'], create: false },
  { kinds: [...WORKLOADS, 'ReplicationController', 'Job'], path: [...TEMPLATE, 'labels'], create: true },
  { kinds: ['CronJob'], path: [...CRON_TEMPLATE, 'labels'], create: true },
];
const ANNOTATION_PATHS: readonly FieldPath[] = [
  { kinds: [...WORKLOADS, 'ReplicationController', 'Job'], path: [...TEMPLATE, 'annotations'], create: true },
  { kinds: ['CronJob'], path: [...CRON_TEMPLATE, 'annotations'], create: true },
];

export const setLabels: StandInFunction = ({ text }) => {
  const list = new ResourceList(text);
  const labels = pairsOf(list.config, 'labels');
  if (labels.length === 0)
    return failed(list, 'failed to configure function: input label list cannot be empty');
  for (const item of list.items) setPairs(item, ['metadata', 'labels'], labels, LABEL_PATHS);
  return { stdout: list.write() };
};

export const setAnnotations: StandInFunction = ({ text }) => {
  const list = new ResourceList(text);
  const annotations = pairsOf(list.config, 'annotations');
  if (annotations.length === 0) {
    return failed(list, 'failed to configure function: input annotation list cannot be empty');
  }
  for (const item of list.items) {
    setPairs(item, ['metadata', 'annotations'], annotations, ANNOTATION_PATHS);
    writePlain(item, () => true);
  }
  return { stdout: list.write() };
};

/** `data` of a ConfigMap, or the field of a SetLabels or SetAnnotations, sorted by key. */
function pairsOf(config: Record<string, unknown> | undefined, field: string): [string, string][] {
  const inner = config?.kind === 'ConfigMap' ? config.data : config?.[field];
  if (typeof inner !== 'object' || inner === null) return [];
  const pairs = Object.entries(inner).map(([key, value]): [string, string] => [key, String(value)]);
  return pairs.sort(([a], [b]) => (a < b ? -1 : 1));
}

function setPairs(
  item: YAMLMap,
  always: readonly string[],
  pairs: readonly [string, string][],
  paths: readonly FieldPath[],
): void {
  const kind = stringAt(item, ['kind']) ?? '';
  const set = (path: readonly string[]) => {
    for (const [key, value] of pairs) setString(item, [...path, key], value);
  };
  set(always);
  for (const { kinds, path, create } of paths) {
    if (kinds.includes(kind) && (create || item.hasIn(path))) set(path);
  }
  const claims = item.getIn(['spec', 'volumeClaimTemplates']);
  if (kind !== 'StatefulSet' || !isSeq(claims)) return;
  for (const claim of claims.items) {
    if (isMap(claim)) for (const [key, value] of pairs) setString(claim, [...always, key], value);
  }
}

/** Sets a field; a field that exists keeps its comment and its quotes. */
export function setString(item: YAMLMap, path: readonly string[], value: string): void {
  const old = item.getIn(path, true);
  if (isScalar(old)) {
    old.value = value;
    return;
  }
  for (let depth = 1; depth < path.length; depth++) {
    const parent = path.slice(0, depth);
    if (!isMap(item.getIn(parent))) item.setIn(parent, new YAMLMap());
  }
  item.setIn(path, new Scalar(value));
}

function stringIn(value: unknown, ...path: readonly string[]): string | undefined {
  let at: unknown = value;
  for (const key of path)
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  return typeof at === 'string' ? at : undefined;
}
