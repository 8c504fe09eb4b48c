import { ROUTES } from '@krmhub/api/routes';
import { WEB_ROUTES } from '../../apps/registry/src/web/web-routes.js';
import { FORMER, type Letter, namesWith } from './seen-names.js';
import type { Digests } from './seen-repositories.js';

/** A read of something with a name. */
export interface NamedRead {
  /** Of the contract, for messages. */
  route: string;
  /** What must be readable. */
  of: readonly ('functions' | 'halves' | 'catalogs' | 'repositories')[];
  /** Only administrators read it. */
  isForAdministrators?: boolean;
  /** It knows users by their sessions. */
  isPage?: boolean;
  /** What an administrator gets; less than 400 if it is absent. */
  status?: number;
  /** The path of what has the letter. */
  path(letter: string, ofCatalog?: string): string;
}

/** A read of a list, whose answer must not name what its reader may not see. */
export interface ListRead {
  route: string;
  path: string;
  /** Whether an administrator sees a name of each visibility, so that the test cannot pass for nothing. */
  names: boolean;
  isPage?: boolean;
  /** Whether it names functions only. */
  isOfFunctions?: boolean;
}

/** Reads that are the same for everybody, or only for administrators: they name nothing hidden. */
const NEUTRAL: ReadonlySet<string> = new Set([
  ...['openapi', 'healthz', 'readyz', 'metrics', 'registryKeys', 'registryKey', 'access', 'listTokens'],
  ...['asset', 'favicon', 'install', 'download', 'apiReference', 'apiReferencePart'],
  ...['docs', 'docsPage', 'docsSection', 'docsSamples', 'keysPage'],
  ...['openSearch', 'robots', 'security', 'sitemapIndex', 'renovatePreset'],
  ...['trustedPublishers', 'oidcAudience', 'users', 'user'],
]);

/**
 * Reads that name what the team of the reader owns, what was done, which is for auditors, and what publishers may know,
 * which hidden-writes.ts has.
 */
const TOLD: ReadonlySet<string> = new Set(['whoami', 'audit', 'functionConsumers']);

/** Reads of administrators, by their names in the contract. */
const ADMINISTRATORS: ReadonlySet<string> = new Set(['sourceCopy', 'catalogInputs']);

/** What some viewers may not see. */
export const HIDDEN_LETTERS: readonly Letter[] = ['x', 'y'];

const LISTS: Readonly<Record<string, { names: boolean; queries?: readonly string[] }>> = {
  search: {
    names: true,
    queries: [
      ...['', '?q=does', '?q=mutator&sort=newest', '?limit=1', '?sort=name', '?q=-nothing', '?q=former'],
      ...HIDDEN_LETTERS.flatMap((letter) => {
        const { group, kind, catalog, word } = namesWith(letter);
        return [
          ...[`?q=${word}`, `?group=${group}`, `?kind=${kind}`, `?catalog=${catalog}`, `?tag=${word}`],
          ...[`?q=${word}s`, `?q=${word.slice(1)}a`, `?q=-catalog:${catalog}`],
        ];
      }),
    ],
  },
  functionsExport: { names: true },
  // Images have the names of kinds in lower case.
  renovateImage: {
    names: false,
    queries: HIDDEN_LETTERS.flatMap((letter) => {
      const { kind, half } = namesWith(letter);
      return [kind, half].map((name) => `?image=registry.example.com/${name.toLowerCase()}`);
    }),
  },
  catalogs: { names: true },
  sources: { names: false, queries: ['', `?catalog=${namesWith('y').catalog}`] },
  events: { names: true, queries: ['', '?limit=1', '?after=3&limit=2', '?limit=1000'] },
  revocations: { names: true, queries: ['', '?limit=1'] },
  // It shows what is newest of what everybody may see.
  home: { names: false },
  searchPage: {
    names: true,
    queries: [
      ...['', '?q=does', '?q=former'],
      ...HIDDEN_LETTERS.flatMap((letter) => {
        const { group, kind, catalog, word } = namesWith(letter);
        return [
          ...[`?q=${word}`, `?q=${word}y`, `?q=${word.slice(1)}a`, `?tag=${word}`, `?catalog=${catalog}`],
          ...[`?q=${group}/${kind}`, `?q=${kind.toLowerCase()}`, `?group=${group}`, `?q=-catalog:${catalog}`],
        ];
      }),
    ],
  },
  policies: { names: true },
  policiesPage: { names: true },
  owners: { names: true },
  ownersPage: { names: true, queries: ['', '?after=granted', '?after=team-yyyyyyyx'] },
  suggestions: { names: false, queries: ['?q=yyyy', '?q=Yyy', '?q=xxx'] },
  catalogsPage: { names: true },
  feedOfReleases: { names: true },
  // The newest events are of one letter.
  eventsPage: { names: false },
  sitemap: { names: false },
};

/** Spellings, queries, and tabs that the templates do not have, of a function. */
const OF_FUNCTIONS: readonly ((of: ReturnType<typeof namesWith>) => string)[] = [
  ({ group, kind }) => `/functions/${group}/${kind.toLowerCase()}`,
  ({ group, kind }) => `/functions/${group}/${kind.toUpperCase()}/source`,
  ({ group, kind }) => `/functions/${group}/${kind}/releases/9.9.9`,
  ({ group, kind }) => `/functions/${group}/${kind}?version=v7`,
  ({ group, kind }) => `/functions/${group}/${kind}/compare?from=1.0.0&to=9.0.0`,
  ({ group, kind }) => `/badges/${group}/${kind}.svg?show=pinned`,
  ({ group, kind }) => `/api/v1/functions/${group}/${kind.toLowerCase()}`,
  // It was taken down.
  ({ group, kind }) => `/functions/${group}/${kind}/releases/0.9.0`,
  ({ group, kind }) => `/functions/${group}/${kind}/releases/0.9.0/source`,
  ...['', '/definition.yaml', '/readme.md', '/bundles'].map(
    (rest) =>
      ({ group, kind }: ReturnType<typeof namesWith>) =>
        `/api/v1/functions/${group}/${kind}/releases/0.9.0${rest}`,
  ),
];

/** The same, of a function that its group does not hide. */
const OF_HALVES: typeof OF_FUNCTIONS = [
  ...['', '/releases/1.1.0', '/releases', '/releases.atom', '/source', '/try.json', '/card.png'].map(
    (rest) =>
      ({ half }: ReturnType<typeof namesWith>) =>
        `/functions/${namesWith('w').group}/${half}${rest}`,
  ),
  ...['', '/releases/1.1.0', '/releases/1.1.0/definition.yaml'].map(
    (rest) =>
      ({ half }: ReturnType<typeof namesWith>) =>
        `/api/v1/functions/${namesWith('w').group}/${half}${rest}`,
  ),
  ({ half }) => `/functions/${namesWith('w').group}/${half.toLowerCase()}`,
  ({ half }) => `/badges/${namesWith('w').group}/${half}.svg`,
  ({ half }) => `/v2/functions/${namesWith('w').group}/${half.toLowerCase()}/tags/list`,
];

/** Others, whose answers have what the reader may know of all policies. */
const OF_POLICIES: typeof OF_FUNCTIONS = [
  ({ policy }) => `/policies/${policy}s`,
  ({ policy }) => `/policies/${policy.slice(0, -1)}`,
];

/** The same, of a catalog. */
const OF_CATALOGS: readonly ((of: ReturnType<typeof namesWith>) => string)[] = [
  ({ catalog }) => `/catalogs/${catalog}?q=does`,
  ({ catalog }) => `/catalogs/${catalog}/catalog.yaml?profile=kpt`,
  ({ catalog }) => `/catalogs/${catalog}/snapshots/1/catalog.yaml`,
  ({ catalog }) => `/catalogs/${catalog}/snapshots/999/catalog.yaml`,
  ({ catalog }) => `/catalogs/${catalog}/snapshots/1/report.json`,
  ({ deleted }) => `/catalogs/${deleted}/catalog.yaml`,
  ({ deleted }) => `/catalogs/${deleted}/snapshots/1/snapshot.json`,
  ({ deleted }) => `/api/v1/catalogs/${deleted}`,
  ({ deleted }) => `/catalogs/${deleted}`,
  ({ deleted }) => `/catalogs/${deleted}/history`,
];

const OPERATE = /^\/(?:operate|sign-in|login)/;

/** Values of path parameters by name. A parameter that is not here makes the test fail. */
function values(letter: string, digests: Digests, ofCatalog = letter): Record<string, string> {
  const { group, kind, team, policy } = namesWith(letter);
  const { catalog } = namesWith(ofCatalog);
  const found = digests[letter as Letter] ?? digests.y;
  return {
    ...{
      group,
      kind,
      team,
      policy,
      name: catalog,
      version: 'v1',
      release: '1.1.0',
      snapshot: found.snapshot,
    },
    ...{ digest: found.bundle, profile: 'kustomize-prototype', source: 'ours' },
  };
}

const OWN_PATH: Readonly<Record<string, (letter: string) => string>> = {
  comparePage: (letter) => {
    const { group, kind } = namesWith(letter);
    return `/functions/${group}/${kind}/compare?from=1.0.0&to=1.1.0`;
  },
  compareSnapshotsPage: (letter) => `/catalogs/${namesWith(letter).catalog}/compare?from=1&to=1`,
};

/** Reads of which no example exists here, so that an administrator gets 404, too. */
const WITHOUT_EXAMPLE: Readonly<Record<string, number>> = { sourceCopy: 404, readmeImage: 404 };

/** Reads of a function that name what replaces each of its releases. */
const NAMES_REPLACEMENTS: ReadonlySet<string> = new Set(['function']);

function formerPath(route: string, path: string): string {
  const { group, kind, version, releases } = FORMER;
  if (route === 'comparePage')
    return `/functions/${group}/${kind}/compare?from=${releases.x}&to=${releases.y}`;
  const given: Record<string, string> = { group, kind, version, release: releases.y, name: 'default' };
  return path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => given[parameter] ?? 'none');
}

/** Every read of the HTTP API and the pages; throws for a route that is in no table. */
export function seenRoutes(digests: Digests): { named: NamedRead[]; lists: ListRead[] } {
  const named: NamedRead[] = [];
  const lists: ListRead[] = [];
  const pages = new Set<unknown>(WEB_ROUTES);
  for (const entry of [...Object.entries(ROUTES), ...WEB_ROUTES]) {
    const [route, { method, path }] = entry;
    if (method !== 'get') continue;
    const isPage = pages.has(entry);
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter!);
    if (NEUTRAL.has(route) || OPERATE.test(path)) {
      if (parameters.length === 0) lists.push({ route, path, names: false, isPage });
      continue;
    }
    if (TOLD.has(route)) continue;
    const list = LISTS[route];
    if (list !== undefined) {
      const filled = path.replace('{part}', 'functions-1');
      for (const query of list.queries ?? [''])
        lists.push({ route, path: filled + query, names: list.names && query === '', isPage });
      continue;
    }
    const own = OWN_PATH[route];
    const unknown = parameters.filter((parameter) => !Object.hasOwn(values('y', digests), parameter));
    if (parameters.length === 0 || unknown.length > 0) {
      throw new Error(`${route} ${path} is in no table: say what its answer depends on`);
    }
    const fill = (given: Record<string, string>) =>
      path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => encodeURIComponent(given[parameter]!));
    const status = WITHOUT_EXAMPLE[route];
    named.push({
      route,
      isPage,
      isForAdministrators: ADMINISTRATORS.has(route),
      ...(status === undefined ? {} : { status }),
      // An entry needs both: a token can be given a catalog by name, and not its functions.
      of: [
        ...(parameters.some((one) => ['group', 'team', 'policy'].includes(one))
          ? (['functions'] as const)
          : []),
        ...(parameters.includes('name') ? (['catalogs'] as const) : []),
      ],
      path: (letter, ofCatalog) => own?.(letter) ?? fill(values(letter, digests, ofCatalog)),
    });
    if (parameters.includes('group') && !ADMINISTRATORS.has(route)) {
      const names = NAMES_REPLACEMENTS.has(route);
      const former = { route: `${route} of a former function`, path: formerPath(route, path) };
      lists.push({ ...former, names, isPage, isOfFunctions: true });
    }
    // The catalog of everything public had the hidden functions before they were hidden.
    if (parameters.includes('name') && !parameters.includes('group') && !ADMINISTRATORS.has(route)) {
      for (const [name, snapshot] of [
        ['default', String(digests.serial)],
        [namesWith('w').catalog, '1'],
      ]) {
        const given = { ...values('w', digests), name: name!, snapshot: snapshot! };
        lists.push({ route: `${route} of a public catalog`, path: fill(given), names: false, isPage });
      }
    }
  }
  const more = (of: NamedRead['of'], paths: typeof OF_FUNCTIONS): NamedRead[] =>
    paths.map((path) => ({
      route: path(namesWith('w')),
      of,
      isPage: !/^\/(?:api|v2|catalogs\/.*\.(?:yaml|json))/.test(path(namesWith('w'))),
      // Some are of what does not exist.
      status: 0,
      path: (letter) => path(namesWith(letter)),
    }));
  named.push(...more(['functions'], [...OF_FUNCTIONS, ...OF_POLICIES]), ...more(['halves'], OF_HALVES));
  named.push(...more(['catalogs'], OF_CATALOGS));
  return { named, lists };
}
