import { Random, Zipf } from './random.js';

/**
 * The words of synthetic definitions. Descriptions follow Zipf's law as written language does: most of them
 * contain the same few words, and thousands of words occur in one or two. So a search text can be common or
 * rare.
 */

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Most frequent first. */
const FREQUENT = words(`
  the resources of to in and every all with a on from for that is each as into by or their label name which
  namespace value workload deployment container image package field annotation cluster config file when set not
  object service policy before after only default given new existing pod secret version chart manifest template
  source target selector kind group port volume path host ingress rule check error team environment registry
  reference list map string key match pattern prefix suffix owner digest tag release bundle overlay patch merge
  order number request limit memory storage network traffic route gateway certificate issuer authority account
  role binding permission user token credential vault rotation schedule job batch cron task probe health ready
  replica scale budget disruption affinity toleration node zone region topology spread priority class quota range
  admission webhook audit log metric trace alert dashboard monitor exporter collector sidecar proxy mesh header
  timeout retry circuit mirror canary rollout strategy revision history backup restore snapshot archive export
  import convert migrate upgrade deprecate remove replace rename insert append split join sort filter group
  validate verify sign encrypt decrypt hash compress render generate compose resolve expand substitute inject
  mount attach detach bind allocate reserve drain evict taint cordon promote approve reject notify report
  summarise document describe explain suggest guess infer enforce require forbid allow deny warn ignore skip`);

const SYLLABLES = words(`
  ba be bi bo bra cal cen co cra da de di do dra el en er fa fer fi flo ga gen go gra ha hel hi ho il in is jo
  ka kel ki kor la le li lo lum ma mel mi mo na nel ni no nor o pa pel pi por qua ra rel ri ro sa sel si sol ta
  tel ti tor u va vel vi vor wa wel wi xe ya yel zi zor`);

/** Product and project names: pronounceable, and each in few descriptions only. */
function coinedName(count: number): string[] {
  const random = new Random(7);
  const found = new Set<string>();
  while (found.size < count) {
    found.add(Array.from({ length: random.between(3, 4) }, () => random.pick(SYLLABLES)).join(''));
  }
  return [...found];
}

export const PROSE = new Zipf([...new Set([...FREQUENT, ...coinedName(12_000)])], 1.02);

export const VERBS = new Zipf(
  words(`Set Ensure Require Render Inject Remove Replace Validate Add Annotate Rename Generate Check Apply Mount
    Merge Convert Restrict Enforce Resolve Expand Pin Verify Sort Limit Rotate Attach Split Sync Scale Export
    Forbid Default Prefix Encrypt Mirror Label Select Copy Migrate`),
  0.8,
);
export const QUALIFIERS = new Zipf(
  words(`Pod Workload Cluster Deployment Namespace Service Ingress Container Common Owner Team Network Storage
    Helm Secret Config Image Resource Node Gateway Default Security Job Stateful Daemon Volume Role Project
    Tenant Release Git Cost Audit Backup Traffic Mesh Certificate Quota Health Region`),
  0.7,
);
export const SUBJECTS = new Zipf(
  words(`Labels Annotations Namespace Images Replicas Limits Policy Chart Names Secrets Probes Tolerations
    Selectors Rules Volumes Ports Certificates Bindings Accounts Quota Hosts Routes Sidecar Environment Prefix
    References Digests Requests Budget Affinity Priority Schedule Owner Headers Timeouts Mounts Tokens Metrics
    Alerts Defaults Versions Schema Templates Values Overlays Patches Manifests Finalizers Strategy Topology`),
  0.8,
);

export const TAGS = new Zipf(
  words(`mutator validator generator labels security networking helm namespace policy images storage cost
    observability gitops multi-tenancy compliance secrets ingress scheduling backup certificates quota rbac
    service-mesh autoscaling migration audit testing batch databases messaging machine-learning edge serverless
    logging tracing metrics alerts dns gateway canary rollout chaos inventory naming annotations defaults
    deprecation supply-chain signing sbom vulnerability encryption vault oidc ldap windows arm64 gpu spot
    terraform crossplane argo flux istio linkerd cilium prometheus grafana kafka redis postgres mysql mongodb`),
  0.9,
);

export const LICENSES = new Zipf(
  ['Apache-2.0', 'MIT', 'BSD-3-Clause', 'MPL-2.0', 'Apache-2.0 OR MIT', 'GPL-3.0-or-later', 'ISC'],
  1.2,
);

/** Names of fields of a functionConfig; combined they give thousands. */
export const FIELD_NOUNS = words(`
  label name namespace selector target source image tag digest value key path port host prefix suffix pattern rule
  policy chart release template version owner team region zone class limit request replica schedule timeout retry
  header secret volume mount token role account quota budget priority probe metric alert endpoint credential`);
export const FIELD_FORMS = [
  '',
  'Name',
  'Ref',
  'Policy',
  'Prefix',
  'Mode',
  'Count',
  'Options',
  'Pattern',
  'List',
];
