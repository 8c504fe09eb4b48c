const CONFIG = { apiVersion: 'example.com/v1alpha1', kind: 'SetLabels' };
const annotated = (text: string) => ({
  ...CONFIG,
  metadata: { name: 'a', annotations: { 'config.kubernetes.io/function': text } },
});
const PACKAGE = [
  ['explain', 'app', '-o', 'json'],
  ['lock', 'app', '-o', 'json'],
  ['outdated', 'app', '-o', 'json'],
  ['build', 'app'],
  ['explain', 'app'],
  ['outdated', 'app'],
];
const KPT = [
  ['fn', 'render', 'package'],
  ['kpt', 'sync', 'package', '--check', '-o', 'json'],
  ['lock', 'package', '-o', 'json'],
  ['explain', 'package', '-o', 'json'],
  ['outdated', 'package', '-o', 'json'],
];
const LINT = (file: string) => [
  ['lint', file],
  ['lint', file, '-o', 'json'],
  ['lint', file, '-o', 'sarif'],
  ['lint', file, '-o', 'github'],
];

/** Documents in which `NAME` can be a URL, each with the commands that read it. */
export const URL_DOCUMENTS: [name: string, document: object, commands: string[][]][] = [
  [
    'app/kustomization.yaml',
    {
      catalogs: ['NAME'],
      resources: ['NAME'],
      components: ['NAME'],
      generators: ['NAME'],
      transformers: ['config.yaml', 'NAME'],
      validators: ['NAME'],
      crds: ['NAME'],
      openapi: { path: 'NAME' },
      helmCharts: [{ name: 'a', repo: 'NAME' }],
    },
    PACKAGE,
  ],
  ['app/config.yaml', annotated('container: {image: "NAME"}'), PACKAGE],
  ['app/config.yaml', annotated('exec: {path: "NAME"}'), PACKAGE],
  ['app/config.yaml', annotated('starlark: {url: "NAME"}'), PACKAGE],
  [
    'app/config.yaml',
    { ...CONFIG, metadata: { name: 'a' }, runtime: { container: { image: 'NAME' } } },
    PACKAGE,
  ],
  [
    'app/krmhub.yaml',
    {
      apiVersion: 'krmhub.dev/v1alpha1',
      kind: 'PackageSettings',
      functions: [{ group: 'example.com', kind: 'SetLabels', range: 'NAME' }],
      minAge: 'NAME',
    },
    PACKAGE,
  ],
  [
    'app/krmhub.lock',
    {
      apiVersion: 'krmhub.dev/v1alpha1',
      kind: 'Lock',
      catalogs: [{ reference: 'NAME', name: 'default', serial: 1, digest: `sha256:${'0'.repeat(64)}` }],
      functions: [
        {
          catalog: 'NAME',
          ...CONFIG,
          release: '1.0.0',
          definition: `sha256:${'0'.repeat(64)}`,
          notIn: ['NAME'],
          container: { image: 'NAME' },
        },
      ],
      images: [{ image: 'NAME', digest: `sha256:${'0'.repeat(64)}` }],
    },
    PACKAGE,
  ],
  [
    'package/Kptfile',
    {
      apiVersion: 'kpt.dev/v1',
      kind: 'Kptfile',
      metadata: { name: 'a', annotations: { 'krmhub.dev/catalogs': 'NAME' } },
      upstream: { type: 'git', git: { repo: 'NAME', directory: '/', ref: 'NAME' } },
      pipeline: {
        mutators: [{ image: 'NAME', configPath: 'config.yaml' }, { exec: 'NAME' }],
        validators: [{ configPath: 'NAME' }],
      },
    },
    KPT,
  ],
  [
    'recipe.yaml',
    {
      apiVersion: 'krmhub.dev/v1alpha1',
      kind: 'CatalogRecipe',
      metadata: { name: 'a' },
      spec: {
        description: 'NAME',
        sources: [
          {
            name: 'theirs',
            catalog: { url: 'NAME', key: 'NAME', refresh: '1h' },
            rewrite: [{ from: 'NAME', to: 'NAME' }],
          },
        ],
      },
    },
    [...LINT('recipe.yaml'), ['catalog', 'build', 'recipe.yaml'], ['catalog', 'apply', 'recipe.yaml']],
  ],
  [
    'definition.yaml',
    {
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'KRMFunctionDefinition',
      spec: {
        group: 'example.com',
        names: { kind: 'SetLabels' },
        description: 'NAME',
        publisher: 'NAME',
        home: 'NAME',
        maintainers: ['NAME'],
        tags: ['NAME'],
        versions: [
          {
            name: 'v1',
            license: 'NAME',
            usage: 'NAME',
            examples: ['NAME'],
            runtime: {
              container: { image: 'NAME', sha256: 'NAME' },
              exec: { platforms: [{ os: 'linux', arch: 'amd64', uri: 'NAME', bin: 'NAME', sha256: 'NAME' }] },
            },
            schema: {
              openAPIV3Schema: { type: 'object', properties: { a: { type: 'string', pattern: 'NAME' } } },
            },
          },
        ],
      },
    },
    [
      ...LINT('definition.yaml'),
      ['publish', 'definition.yaml', '--release', '1.0.0', '--dry-run', '-o', 'json'],
      ['pin', 'definition.yaml', '--dry-run', '-o', 'json'],
      ['test', 'definition.yaml', '-o', 'json'],
    ],
  ],
  [
    'policy.yaml',
    {
      apiVersion: 'krmhub.dev/v1alpha1',
      kind: 'SigningPolicy',
      metadata: { name: 'a' },
      spec: {
        groups: ['NAME'],
        signers: [{ identity: { issuer: 'NAME', subject: 'NAME' } }, { key: 'NAME' }],
      },
    },
    [
      ['policy', 'apply', 'policy.yaml', '--dry-run', '-o', 'json'],
      ['trust', 'add', 'policy.yaml'],
      ['lint', 'policy.yaml'],
    ],
  ],
  [
    'access.yaml',
    {
      apiVersion: 'krmhub.dev/v1alpha1',
      kind: 'Access',
      metadata: { name: 'a' },
      spec: {
        teams: [{ name: 'a', contact: 'NAME', members: [{ user: 'NAME' }, { ssoGroup: 'NAME' }] }],
        groups: [{ pattern: 'NAME', owner: 'NAME' }],
      },
    },
    [
      ['access', 'apply', 'access.yaml', '--dry-run', '-o', 'json'],
      ['lint', 'access.yaml'],
    ],
  ],
  [
    'trust.yaml',
    {
      apiVersion: 'krmhub.dev/v1alpha1',
      kind: 'CatalogTrust',
      metadata: { name: 'a' },
      spec: { official: 'NAME', catalogs: ['NAME'] },
    },
    [
      ['trust', 'list'],
      ['resolve', 'example.com/v1', 'A'],
    ],
  ],
];
