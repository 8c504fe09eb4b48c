/** Every path of the HTTP API in the syntax of OpenAPI. */
export const PATHS = {
  functions: '/api/v1/functions',
  functionsExport: '/api/v1/functions.jsonl',
  function: '/api/v1/functions/{group}/{kind}',
  release: '/api/v1/functions/{group}/{kind}/releases/{release}',
  definition: '/api/v1/functions/{group}/{kind}/releases/{release}/definition.yaml',
  readme: '/api/v1/functions/{group}/{kind}/releases/{release}/readme.md',
  bundles: '/api/v1/functions/{group}/{kind}/releases/{release}/bundles',
  bundle: '/api/v1/functions/{group}/{kind}/releases/{release}/bundles/{digest}',
  yank: '/api/v1/functions/{group}/{kind}/releases/{release}/yank',
  unyank: '/api/v1/functions/{group}/{kind}/releases/{release}/unyank',
  deprecate: '/api/v1/functions/{group}/{kind}/releases/{release}/deprecate',
  undeprecate: '/api/v1/functions/{group}/{kind}/releases/{release}/undeprecate',
  takedown: '/api/v1/functions/{group}/{kind}/releases/{release}/takedown',
  functionConsumers: '/api/v1/functions/{group}/{kind}/consumers',
  reportConsumer: '/api/v1/consumers',
  renovate: '/api/v1/renovate/{group}/{kind}',
  renovateImage: '/api/v1/renovate/images',
  renovatePreset: '/renovate.json',
  events: '/api/v1/events',
  revocations: '/api/v1/revocations',
  audit: '/api/v1/audit',
  whoami: '/api/v1/whoami',
  tokens: '/api/v1/tokens',
  token: '/api/v1/tokens/{id}',
  users: '/api/v1/users',
  user: '/api/v1/users/{id}',
  suspendUser: '/api/v1/users/{id}/suspend',
  restoreUser: '/api/v1/users/{id}/restore',
  reportLeak: '/api/v1/tokens/report-leak',
  loginRequests: '/api/v1/login/requests',
  loginToken: '/api/v1/login/token',
  policies: '/api/v1/policies',
  owners: '/api/v1/owners',
  owner: '/api/v1/owners/{group}',
  claimGroup: '/api/v1/owners/{group}/claim',
  verifyOwner: '/api/v1/owners/{group}/verify',
  trustedPublishers: '/api/v1/trusted-publishers',
  trustedPublisher: '/api/v1/trusted-publishers/{id}',
  checkPublishers: '/api/v1/oidc/check',
  oidcAudience: '/api/v1/oidc/audience',
  oidcToken: '/api/v1/oidc/token',
  access: '/api/v1/access',
  checkAccess: '/api/v1/access/check',
  catalogs: '/api/v1/catalogs',
  catalog: '/api/v1/catalogs/{name}',
  deleteCatalog: '/api/v1/catalogs/{name}/delete',
  restoreCatalog: '/api/v1/catalogs/{name}/restore',
  cut: '/api/v1/catalogs/{name}/cut',
  catalogInputs: '/api/v1/catalogs/{name}/inputs',
  catalogReport: '/api/v1/catalogs/{name}/report',
  catalogReleases: '/api/v1/catalogs/{name}/releases',
  catalogFunction: '/api/v1/catalogs/{name}/functions/{group}/{kind}',
  sources: '/api/v1/sources',
  refreshSource: '/api/v1/catalogs/{name}/sources/{source}/refresh',
  sourceCopy: '/api/v1/catalogs/{name}/sources/{source}/copy',
  catalogYaml: '/catalogs/{name}/catalog.yaml',
  catalogJson: '/catalogs/{name}/catalog.json',
  catalogEntry: '/catalogs/{name}/functions/{group}/{kind}.yaml',
  snapshots: '/catalogs/{name}/snapshots',
  snapshotCatalogYaml: '/catalogs/{name}/snapshots/{snapshot}/catalog.yaml',
  snapshotCatalogJson: '/catalogs/{name}/snapshots/{snapshot}/catalog.json',
  snapshotJson: '/catalogs/{name}/snapshots/{snapshot}/snapshot.json',
  snapshotReport: '/catalogs/{name}/snapshots/{snapshot}/report.json',
  snapshotProfile: '/catalogs/{name}/snapshots/{snapshot}/profiles/{profile}.json',
  snapshotBundle: '/catalogs/{name}/snapshots/{snapshot}/snapshot.sigstore.json',
  catalogBundle: '/catalogs/{name}/snapshot.sigstore.json',
  registryKeys: '/.well-known/krmhub-keys.json',
  registryKey: '/.well-known/krmhub-key.pub',
  functionConfigSchema: '/schemas/{group}/{version}/{kind}.json',
  openapi: '/openapi.json',
  healthz: '/healthz',
  readyz: '/readyz',
  metrics: '/metrics',
} as const;

export type PathName = keyof typeof PATHS;

type ParameterNames<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;
export type PathParameters<Name extends PathName> = Record<ParameterNames<(typeof PATHS)[Name]>, string>;

/** Returns the path with percent-encoded parameters. */
export function fillPath<Name extends PathName>(name: Name, parameters: PathParameters<Name>): string {
  const values: Record<string, string> = parameters;
  return PATHS[name].replace(/\{(\w+)\}/g, (_, parameter: string) => encodeURIComponent(values[parameter]!));
}

/** Returns the path of the page of a function. */
export function functionPath({ group, kind }: { group: string; kind: string }): string {
  return `/functions/${encodeURIComponent(group)}/${encodeURIComponent(kind)}`;
}
