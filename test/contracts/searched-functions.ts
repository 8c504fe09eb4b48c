import { AT, type SampleFunction } from './sample-records.js';

const mark = { at: AT, by: 'someone', reason: 'replaced' };

/** A small registry with realistic content. */
export const FUNCTIONS: SampleFunction[] = [
  {
    kind: 'SetLabels',
    description: 'Sets labels on all resources of a package.',
    tags: ['mutator', 'labels'],
  },
  {
    kind: 'SetAnnotations',
    description: 'Sets annotations on all resources, like set-labels does for labels.',
    tags: ['mutator'],
  },
  {
    kind: 'SetNamespace',
    description: 'Sets the namespace of resources. Labels stay.',
    tags: ['mutator', 'namespace'],
  },
  { kind: 'EnsureNameSubstring', description: 'Gives names a prefix or suffix.', tags: ['mutator'] },
  {
    kind: 'LabelDeployments',
    group: 'vendor.example.org',
    publisher: 'Vendor',
    description: 'Marks deployments.',
    tags: ['mutator'],
  },
  {
    kind: 'RenderHelmChart',
    description: 'Renders a Helm chart with values.',
    tags: ['generator', 'helm'],
    runtimes: ['container', 'exec'],
    runtime: {
      exec: {
        platforms: [
          { os: 'linux', arch: 'amd64', bin: 'fn', uri: 'https://example.com/fn', sha256: 'a1'.repeat(32) },
        ],
      },
    },
  },
  {
    kind: 'UpgradeChart',
    description: 'Upgrades the helm dependencies; helm must be there.',
    tags: ['mutator'],
    licenses: ['MIT'],
  },
  {
    kind: 'Kubeval',
    runtime: {
      container: { image: `registry.example.com/fn@sha256:${'a1'.repeat(32)}`, requireNetwork: true },
    },
    description: 'Validates resources against their schemas.',
    tags: ['validator'],
  },
  {
    kind: 'Gatekeeper',
    description: 'Validates resources by policies.',
    tags: ['validator', 'policy'],
    runtimes: ['starlark'],
    licenses: ['MIT'],
  },
  { kind: 'HelmOld', description: 'Helm as it was.', tags: ['helm'], allYanked: true },
  { kind: 'SetImageDigests', description: 'Sets an image.', tags: ['mutator'], deprecated: mark },
  { kind: 'SetImageTags', description: 'Sets an image.', tags: ['mutator'] },
  {
    kind: 'HTTPRouteCheck',
    group: 'vendor.example.org',
    publisher: 'Vendor',
    description: 'Checks routes.',
    tags: ['validator'],
  },
];
