import { ROUTES } from '@krmhub/api/routes';
import { OCI_TEMPLATES } from '../../apps/registry/src/oci/templates.js';
import { WEB_ROUTES } from '../../apps/registry/src/web/web-routes.js';
import { ADMINISTRATOR, type Letter, namesWith, type Viewer } from './seen-world.js';

/** A read of something with a name. */
export interface NamedRead {
  /** Of the contract, for messages. */
  route: string;
  /** What must be readable. */
  of: readonly ('functions' | 'catalogs' | 'repositories')[];
  /** Only administrators read it. */
  isForAdministrators?: boolean;
  /** The path of what has the letter. */
  path(letter: string, ofCatalog?: string): string;
}

/** A read of a list, whose answer must not name what its reader may not see. */
export interface ListRead {
  route: string;
  path: string;
  /** Whether an administrator sees a name of each visibility, so that the test cannot pass for nothing. */
  names: boolean;
}

/** Reads whose answers are the same for everybody, or only for administrators, by their names in the contract. */
const NEUTRAL = new Set([
  ...[
    'openapi',
    'healthz',
    'readyz',
    'registryKeys',
    'whoami',
    'listTokens',
    'policies',
    'getAccess',
    'listAudit',
  ],
  ...['asset', 'favicon', 'install', 'download', 'apiReference', 'apiReferencePart', 'docs', 'docsPage'],
  ...[
    'docsSection',
    'policiesPage',
    'policyPage',
    'keysPage',
    'openSearch',
    'robots',
    'security',
    'docsSamples',
    'audit',
    'access',
    'showAccess',
  ],
  ...['trustedPublishers', 'oidcAudience'],
]);

/** Reads of administrators, by their names in the contract. */
const ADMINISTRATORS = new Set(['sourceCopy', 'catalogInputs']);

const LISTS: Readonly<Record<string, { names: boolean; queries?: readonly string[] }>> = {
  search: {
    names: true,
    queries: [
      ...['', '?q=does', '?q=mutator&sort=newest', '?limit=1', '?sort=name', '?q=-nothing'],
      ...['x', 'y'].flatMap((letter) => {
        const { group, kind, catalog, word } = namesWith(letter);
        return [
          `?q=${word}`,
          `?group=${group}`,
          `?kind=${kind}`,
          `?catalog=${catalog}`,
          `?tag=${word}`,
          `?q=${word}s`,
        ];
      }),
    ],
  },
  functionsExport: { names: true },
  catalogs: { names: true },
  owners: { names: true },
  ownersPage: { names: true, queries: ['', '?after=granted', '?after=team-yyyyyyyx'] },
  sources: { names: false, queries: ['', '?catalog=cat-yyyyyyyy'] },
  events: { names: true, queries: ['', '?limit=1', '?after=3&limit=2', '?limit=1000'] },
  revocations: { names: true, queries: ['', '?limit=1'] },
  metrics: { names: false },
  // Without a session, it shows what is newest of what everybody may see.
  home: { names: false },
  searchPage: {
    names: true,
    queries: ['', '?q=does', '?q=yyyyyyyy', '?q=yyyyyyyyy', '?tag=yyyyyyyy', '?catalog=cat-yyyyyyyy'],
  },
  suggestions: { names: false, queries: ['?q=yyyy', '?q=Yyy', '?q=xxx'] },
  catalogsPage: { names: true },
  feedOfReleases: { names: true },
  eventsPage: { names: true },
  sitemapIndex: { names: false },
};

const OPERATE = /^\/operate/;

/** Values of path parameters by name. A parameter that is not here makes the test fail. */
function values(letter: string, digests: Digests, ofCatalog = letter): Record<string, string> {
  const { group, kind, team } = namesWith(letter);
  const { catalog } = namesWith(ofCatalog);
  const found = digests[letter as Letter] ?? digests.y;
  return {
    ...{ group, kind, team, name: catalog, version: 'v1', release: '1.1.0', snapshot: found.snapshot },
    ...{ digest: found.definition, profile: 'plain', source: 'ours' },
  };
}

/** Digests of what has a letter; paths of what does not exist have those of the private one. */
export type Digests = Record<
  Letter,
  { definition: string; snapshot: string; manifest: string; layer: string }
>;

const OWN_PATH: Readonly<Record<string, (letter: string, digests: Digests) => string>> = {
  comparePage: (letter) => {
    const { group, kind } = namesWith(letter);
    return `/functions/${group}/${kind}/compare?from=1.0.0&to=1.1.0`;
  },
  compareSnapshotsPage: (letter) => `/catalogs/${namesWith(letter).catalog}/compare?from=1&to=2`,
  sitemap: () => '/sitemaps/functions-1.xml',
};

/** Returns every read of the HTTP API, the pages, and the OCI registry; rejects a route that is in no table. */
export function seenRoutes(digests: Digests): { named: NamedRead[]; lists: ListRead[] } {
  const named: NamedRead[] = [];
  const lists: ListRead[] = [];
  const all = [...Object.entries(ROUTES), ...WEB_ROUTES];
  for (const [route, { method, path }] of all) {
    if (method !== 'get' || OPERATE.test(path) || NEUTRAL.has(route)) continue;
    const list = LISTS[route];
    if (list !== undefined) {
      for (const query of list.queries ?? [''])
        lists.push({ route, path: path + query, names: list.names && query === '' });
      continue;
    }
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter!);
    const own = OWN_PATH[route];
    const unknown = parameters.filter((parameter) => !Object.hasOwn(values('y', digests), parameter));
    if (own === undefined && (parameters.length === 0 || unknown.length > 0)) {
      throw new Error(`${route} ${path} is in no table: say what its answer depends on`);
    }
    named.push({
      route,
      isForAdministrators: ADMINISTRATORS.has(route),
      // An entry needs both: a token can be given a catalog by name, and not its functions.
      of: [
        ...(parameters.some((one) => one === 'group' || one === 'team') ? (['functions'] as const) : []),
        ...(parameters.includes('name') ? (['catalogs'] as const) : []),
      ],
      path: (letter, ofCatalog) =>
        own?.(letter, digests) ??
        path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) =>
          encodeURIComponent(values(letter, digests, ofCatalog)[parameter]!),
        ),
    });
  }
  return {
    named: [...named, ...ociReads(digests)],
    lists: [...lists, { route: 'repositories', path: '/v2/_catalog', names: true }],
  };
}

function ociReads(digests: Digests): NamedRead[] {
  const repositories = {
    functions: (letter: string) =>
      `functions/${namesWith(letter).group}/${namesWith(letter).kind.toLowerCase()}`,
    catalogs: (letter: string) => `catalogs/${namesWith(letter).catalog}`,
    repositories: (letter: string) => namesWith(letter).repository,
    scripts: (letter: string) => `scripts/${namesWith(letter).group}/${namesWith(letter).kind.toLowerCase()}`,
  };
  const tags = { functions: '1.1.0', catalogs: '1', repositories: '1', scripts: '1' };
  const known = (letter: string) => digests[letter as Letter] ?? digests.y;
  const kinds = Object.keys(repositories) as (keyof typeof repositories)[];
  return kinds.flatMap((kind) => {
    const of = kind === 'scripts' ? (['functions'] as const) : ([kind] as const);
    const at = (template: string, rest: (letter: string) => string): NamedRead => ({
      route: `${kind}: ${template}`,
      of,
      path: (letter) => `/v2/${repositories[kind](letter)}/${rest(letter)}`,
    });
    const isPushed = kind === 'repositories' || kind === 'scripts';
    return [
      at(OCI_TEMPLATES.tags, () => 'tags/list'),
      at(OCI_TEMPLATES.manifest, () => `manifests/${tags[kind]}`),
      ...(isPushed
        ? [
            at(`${OCI_TEMPLATES.manifest} by digest`, (letter) => `manifests/${known(letter).manifest}`),
            at(OCI_TEMPLATES.blob, (letter) => `blobs/${known(letter).layer}`),
            at(OCI_TEMPLATES.referrers, (letter) => `referrers/${known(letter).manifest}`),
          ]
        : []),
    ];
  });
}

/** Reports whether a viewer may see what has the letter. */
export function sees(
  viewer: Viewer,
  { of, isForAdministrators = false }: NamedRead,
  letter: Letter,
): boolean {
  if (isForAdministrators && viewer.name !== ADMINISTRATOR) return false;
  return of.every((kind) => viewer[kind].includes(letter));
}
