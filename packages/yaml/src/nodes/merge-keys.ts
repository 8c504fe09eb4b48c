import { field, scalarText } from './fields.js';
import type { ResourceNode } from './node.js';

/** The fields of a type whose lists, or those below them, are matched by keys instead of by index. */
export interface FieldKeys {
  readonly [field: string]: FieldKeys | ListKeys | undefined;
}

/** A list that is matched by the values of these fields. `['']`: by the items themselves. */
export class ListKeys {
  readonly keys: readonly string[];
  readonly item: FieldKeys | undefined;

  constructor(keys: readonly string[], item?: FieldKeys) {
    this.keys = keys;
    this.item = item;
  }
}

const by = (key: string, item?: FieldKeys): ListKeys => new ListKeys([key], item);

const META: FieldKeys = { finalizers: by(''), ownerReferences: by('uid') };
const EPHEMERAL_CONTAINER: FieldKeys = {
  env: by('name'),
  volumeDevices: by('devicePath'),
  volumeMounts: by('mountPath'),
};
const CONTAINER: FieldKeys = {
  ...EPHEMERAL_CONTAINER,
  ports: new ListKeys(['containerPort', 'protocol']),
};
const POD: FieldKeys = {
  containers: by('name', CONTAINER),
  ephemeralContainers: by('name', EPHEMERAL_CONTAINER),
  hostAliases: by('ip'),
  imagePullSecrets: by('name'),
  initContainers: by('name', CONTAINER),
  topologySpreadConstraints: new ListKeys(['topologyKey', 'whenUnsatisfiable']),
  volumes: by('name', { ephemeral: { volumeClaimTemplate: { metadata: META } } }),
};
const CONDITIONS: FieldKeys = { conditions: by('type') };
const TEMPLATED: FieldKeys = { template: { metadata: META, spec: POD } };
const WORKLOAD: FieldKeys = { metadata: META, spec: TEMPLATED, status: CONDITIONS };
const CRON_JOB: FieldKeys = { metadata: META, spec: { jobTemplate: { metadata: META, spec: TEMPLATED } } };
const WEBHOOKS: FieldKeys = { metadata: META, webhooks: by('name') };
const WITH_CONDITIONS: FieldKeys = { metadata: META, status: CONDITIONS };
const OTHER: FieldKeys = { metadata: META };

/** The types of Kubernetes 1.21, which kyaml knows. */
const TYPES: ReadonlyMap<string, FieldKeys> = new Map<string, FieldKeys>([
  ['apps/v1 DaemonSet', WORKLOAD],
  ['apps/v1 Deployment', WORKLOAD],
  ['apps/v1 ReplicaSet', WORKLOAD],
  ['apps/v1 StatefulSet', WORKLOAD],
  ['v1 ReplicationController', WORKLOAD],
  ['batch/v1 Job', WORKLOAD],
  ['batch/v1 CronJob', CRON_JOB],
  ['batch/v1beta1 CronJob', CRON_JOB],
  ['v1 Pod', { metadata: META, spec: POD, status: { ...CONDITIONS, podIPs: by('ip') } }],
  ['v1 PodTemplate', { metadata: META, ...TEMPLATED }],
  ['v1 Service', { metadata: META, spec: { ports: new ListKeys(['port', 'protocol']) }, status: CONDITIONS }],
  ['v1 ServiceAccount', { metadata: META, secrets: by('name') }],
  [
    'v1 Node',
    { metadata: META, spec: { podCIDRs: by('') }, status: { ...CONDITIONS, addresses: by('type') } },
  ],
  ['v1 Namespace', WITH_CONDITIONS],
  ['v1 PersistentVolumeClaim', WITH_CONDITIONS],
  ['v1 ComponentStatus', { metadata: META, ...CONDITIONS }],
  ['policy/v1 PodDisruptionBudget', WITH_CONDITIONS],
  ['policy/v1beta1 PodDisruptionBudget', WITH_CONDITIONS],
  ['apiregistration.k8s.io/v1 APIService', WITH_CONDITIONS],
  ['apiregistration.k8s.io/v1beta1 APIService', WITH_CONDITIONS],
  ...['v1', 'v1beta1'].flatMap((version) => [
    [`admissionregistration.k8s.io/${version} MutatingWebhookConfiguration`, WEBHOOKS] as const,
    [`admissionregistration.k8s.io/${version} ValidatingWebhookConfiguration`, WEBHOOKS] as const,
    [
      `storage.k8s.io/${version} CSINode`,
      { metadata: META, spec: { drivers: by('name') } } as FieldKeys,
    ] as const,
  ]),
  ...[
    'v1 ConfigMap',
    'v1 Endpoints',
    'v1 Event',
    'v1 LimitRange',
    'v1 PersistentVolume',
    'v1 ResourceQuota',
    'v1 Secret',
    'apps/v1 ControllerRevision',
    'apiextensions.k8s.io/v1 CustomResourceDefinition',
    'autoscaling/v1 HorizontalPodAutoscaler',
    'autoscaling/v2beta1 HorizontalPodAutoscaler',
    'autoscaling/v2beta2 HorizontalPodAutoscaler',
    'coordination.k8s.io/v1 Lease',
    'networking.k8s.io/v1 Ingress',
    'networking.k8s.io/v1 IngressClass',
    'networking.k8s.io/v1 NetworkPolicy',
    'rbac.authorization.k8s.io/v1 ClusterRole',
    'rbac.authorization.k8s.io/v1 ClusterRoleBinding',
    'rbac.authorization.k8s.io/v1 Role',
    'rbac.authorization.k8s.io/v1 RoleBinding',
    'scheduling.k8s.io/v1 PriorityClass',
    'storage.k8s.io/v1 StorageClass',
  ].map((type) => [type, OTHER] as const),
]);

/** The keys of the lists in a Kubernetes object; undefined for types that kyaml does not know. */
export function findMergeKeys(object: ResourceNode): FieldKeys | undefined {
  const kind = scalarText(field(object, 'kind'));
  return kind === undefined
    ? undefined
    : TYPES.get(`${scalarText(field(object, 'apiVersion')) ?? ''} ${kind}`);
}
