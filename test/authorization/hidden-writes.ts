import type { RouteName } from '@krmhub/api/routes';
import { ROUTES } from '@krmhub/api/routes';
import type { OciRouteName } from '@krmhub/oci';
import { OCI_METHODS } from '@krmhub/oci';
import { formatReplacement } from '@krmhub/schema';
import { OCI_TEMPLATES } from '../../apps/registry/src/oci/templates.js';
import { definitionText } from '../../apps/registry/src/testing/test-registry.js';
import { WEB_ROUTES } from '../../apps/registry/src/web/web-routes.js';
import { attestationOf } from './guarded-routes.js';
import { FORMER, namesWith } from './seen-names.js';

/** A change of something with a name, or a form for it. */
export interface NamedWrite {
  route: string;
  method: string;
  of: 'functions' | 'catalogs' | 'repositories';
  isPage?: boolean;
  /** Whoever may do it may begin the name: it then learns that the name is taken. */
  begins?: boolean;
  path(letter: string): string;
  body?(letter: string): string;
  type?: string;
}

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const DIGEST = `sha256:${'0'.repeat(64)}`;

/** Changes that name nothing which can be hidden, or are only for administrators of everything. */
const NAMELESS: ReadonlySet<RouteName> = new Set<RouteName>([
  ...(['applyPolicies', 'applyAccess', 'checkAccess', 'createToken', 'revokeToken', 'reportLeak'] as const),
  ...([
    'removePublisher',
    'exchangeToken',
    'suspendUser',
    'restoreUser',
    'requestLogin',
    'loginToken',
  ] as const),
]);

const reason = () => JSON.stringify({ reason: 'as a test' });

/** Bodies by operation. An operation that changes something and is in neither table makes the test fail. */
const BODIES: Partial<Record<RouteName, Pick<NamedWrite, 'body' | 'type'>>> = {
  // Only as a dry run: everybody may begin an absent group that is open.
  publish: {
    body: (letter) => definitionText({ ...namesWith(letter), release: '2.0.0' }),
    type: YAML_TYPE,
  },
  attach: { body: () => attestationOf(DIGEST, 1), type: JSON_TYPE },
  yank: { body: reason, type: JSON_TYPE },
  unyank: {},
  deprecate: { body: reason, type: JSON_TYPE },
  undeprecate: {},
  takedown: { body: reason, type: JSON_TYPE },
  applyCatalog: {
    body: (letter) =>
      `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ${namesWith(letter).catalog}}\nspec: {sources: [{name: ours, functions: {}}]}\n`,
    type: YAML_TYPE,
  },
  catalogReleases: {
    body: (letter) => {
      const { group, kind } = namesWith(letter);
      return JSON.stringify({ functions: [{ group, kind }] });
    },
    type: JSON_TYPE,
  },
  reportConsumer: {
    body: (letter) => {
      const { group, kind } = namesWith(letter);
      return JSON.stringify({ name: 'a', releases: [{ group, kind, version: 'v1', release: '1.1.0' }] });
    },
    type: JSON_TYPE,
  },
  deleteCatalog: { body: reason, type: JSON_TYPE },
  restoreCatalog: {},
  cut: {},
  refreshSource: {},
  claimGroup: { body: () => JSON.stringify({ team: 'others' }), type: JSON_TYPE },
  verifyOwner: {},
  releaseGroup: {},
  addPublisher: {
    body: (letter) =>
      JSON.stringify({
        group: namesWith(letter).group,
        provider: 'github',
        settings: { repository: 'example/functions', workflow: 'release.yml' },
      }),
    type: JSON_TYPE,
  },
  checkPublishers: {
    body: (letter) => JSON.stringify({ group: namesWith(letter).group, claims: {} }),
    type: JSON_TYPE,
  },
};

const BEGINS: ReadonlySet<RouteName> = new Set<RouteName>(['publish', 'verifyOwner']);

function fill(path: string, letter: string): string {
  const { group, kind, catalog } = namesWith(letter);
  const values: Record<string, string> = { group, kind, name: catalog, release: '1.1.0', source: 'ours' };
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${path}: the test has no value for ${name}`);
    return value;
  });
}

/** Fields of the forms by page. */
const FORMS: Readonly<Record<string, string>> = {
  changeRelease: 'do=yank&reason=as+a+test',
  takeDownNow: 'reason=as+a+test&confirm=yes',
  sendRecipe: 'text=x&expected=&do=check',
  askSource: '',
};

/** Every change by the HTTP API and the pages of operators; throws for an operation that is in no table. */
export function namedWrites(): NamedWrite[] {
  const found: NamedWrite[] = [];
  for (const [name, { method, path }] of Object.entries(ROUTES)) {
    const route = name as RouteName;
    if (method === 'get' || NAMELESS.has(route)) continue;
    const given = BODIES[route];
    if (given === undefined) throw new Error(`${route} ${path} is in no table: say what it changes`);
    const query = route === 'publish' ? '?dryRun=true' : '';
    found.push({
      ...{ route, method: method.toUpperCase(), ...given, begins: BEGINS.has(route) },
      of: path.includes('{name}') ? 'catalogs' : 'functions',
      path: (letter) => fill(path, letter) + query,
    });
  }
  found.push({
    ...{ route: 'functionConsumers', method: 'GET', of: 'functions' },
    path: (letter) => fill(ROUTES.functionConsumers.path, letter),
  });
  // The catalog of everything public had the hidden functions before they were hidden.
  found.push({
    ...{ route: 'catalogReleases', method: 'POST', of: 'functions', ...BODIES.catalogReleases },
    path: () => fill(ROUTES.catalogReleases.path, 'w').replace(namesWith('w').catalog, 'default'),
  });
  // What replaces a release may not tell whether it exists.
  const former = `${FORMER.group}/${FORMER.kind}`;
  const replacing = (letter: string) => {
    const { group, kind } = namesWith(letter);
    return { group, kind, releases: '>=1.0.0' };
  };
  found.push(
    {
      ...{ route: 'deprecate', method: 'POST', of: 'functions', type: JSON_TYPE },
      path: () => `/api/v1/functions/${former}/releases/${FORMER.releases.w}/deprecate`,
      body: (letter) => JSON.stringify({ replacement: replacing(letter) }),
    },
    {
      ...{ route: 'changeRelease', method: 'POST', of: 'functions', type: FORM_TYPE, isPage: true },
      path: () => `/operate/releases/${former}/${FORMER.releases.w}`,
      body: (letter) => `do=deprecate&reason=old&replacement=${formatReplacement(replacing(letter))}`,
    },
  );
  for (const [route, { method, path }] of WEB_ROUTES) {
    const isNamed = path.startsWith('/operate') && /\{(?:group|name)\}/.test(path);
    if (!isNamed) continue;
    const form = FORMS[route];
    if (method !== 'get' && form === undefined)
      throw new Error(`${route} ${path} is in no table: fill its form`);
    found.push({
      ...{ route, method: method.toUpperCase(), isPage: true },
      of: path.includes('{name}') ? 'catalogs' : 'functions',
      path: (letter) => fill(path, letter),
      ...(form !== undefined && { body: () => form, type: FORM_TYPE }),
    });
  }
  return [...found, ...repositoryWrites()];
}

const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const MANIFEST = JSON.stringify({
  schemaVersion: 2,
  mediaType: MANIFEST_TYPE,
  artifactType: 'application/vnd.example.test',
  config: { mediaType: 'application/vnd.oci.empty.v1+json', digest: DIGEST, size: 2 },
  layers: [],
});

/** Targets of changes within a repository; `undefined` for what changes none. */
const TARGETS: Record<OciRouteName, readonly string[] | undefined> = {
  ...{ base: undefined, token: undefined, repositories: undefined, tags: undefined, referrers: undefined },
  manifest: ['manifests/1', 'manifests/1.1.0', `manifests/${DIGEST}`],
  blob: [`blobs/${DIGEST}`],
  uploads: ['blobs/uploads/', `blobs/uploads/?digest=${DIGEST}`],
  upload: ['blobs/uploads/00000000-0000-4000-8000-000000000000'],
};

/** The names of repositories by what decides who may change them. */
const REPOSITORIES: readonly [of: NamedWrite['of'], name: (letter: string) => string][] = [
  ['functions', (letter) => `functions/${namesWith(letter).group}/${namesWith(letter).kind.toLowerCase()}`],
  ['functions', (letter) => `scripts/${namesWith(letter).group}/${namesWith(letter).kind.toLowerCase()}`],
  ['catalogs', (letter) => `catalogs/${namesWith(letter).catalog}`],
  ['repositories', (letter) => namesWith(letter).repository],
];

function repositoryWrites(): NamedWrite[] {
  const routes = Object.entries(TARGETS) as [OciRouteName, (typeof TARGETS)[OciRouteName]][];
  return REPOSITORIES.flatMap(([of, repository]) => [
    ...routes.flatMap(([what, targets = []]) =>
      OCI_METHODS[what]
        .filter((method) => method !== 'GET' && method !== 'HEAD')
        .flatMap((method) =>
          targets.map((target): NamedWrite => {
            const isManifest = what === 'manifest' && method === 'PUT';
            return {
              ...{ route: OCI_TEMPLATES[what], method, of, begins: of !== 'catalogs' },
              path: (letter) => `/v2/${repository(letter)}/${target}`,
              ...(isManifest && { body: () => MANIFEST, type: MANIFEST_TYPE }),
            };
          }),
        ),
    ),
    // From what the client may not read, to a repository that it may change: also of a digest that it knows.
    {
      route: 'mount',
      method: 'POST',
      of,
      path: (letter) => `/v2/other/mine/blobs/uploads/?mount=${DIGEST}&from=${repository(letter)}`,
    },
  ]);
}
