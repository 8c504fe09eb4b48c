import { functionPath } from '@krmhub/api/paths';
import { defined } from '@krmhub/schema/defined';
import { FACET_NAMES, type FacetName } from '@krmhub/schema/facets';

/** Paths of the pages, below the path of the registry; `Site.at` turns them into links. */

export const HOME = '/';
export const INSTALL = '/install';
export const CLI = '/cli';
export const CATALOGS = '/catalogs';
export const OPERATE = '/operate';
export const DOCS = '/docs';
export const DOCS_SAMPLES_FILE = '/docs/samples.tgz';
export const PUBLIC_EVENTS = '/events';
export const KEYS = '/keys';
export const RELEASES_FEED = '/functions.atom';

export type SearchLink = {
  [Name in FacetName | 'q' | 'sort' | 'cursor']?:
    | (Name extends FacetName ? readonly string[] : string)
    | undefined;
};

/** Returns the path of a search, with its filters in the order of the table of facets. */
export function searchPath(search: SearchLink = {}): string {
  const parameters = new URLSearchParams();
  for (const name of SEARCH_PARAMETERS) {
    const given = search[name];
    if (typeof given === 'string') {
      if (given !== '') parameters.append(name, given);
    } else for (const value of given ?? []) parameters.append(name, value);
  }
  const query = parameters.toString();
  return query === '' ? '/functions' : `/functions?${query}`;
}

const SEARCH_PARAMETERS = [
  'q',
  ...FACET_NAMES,
  'sort',
  'cursor',
] as const satisfies readonly (keyof SearchLink)[];

export const API_PAGE = '/api';
/** The part of the reference of the API with the schemas of several tags; the others are the tags of operations. */
export const API_SCHEMAS = 'schemas';

/** Returns the path of a part of the reference of the API, and of an operation or schema on it. */
export function apiPath(part: string, id = ''): string {
  const path = part === '' ? API_PAGE : `${API_PAGE}/${part}`;
  return id === '' ? path : `${path}#${id}`;
}

/** Returns the path of a page of the documentation, such as `build` or `commands/krmhub-build`, and of a heading. */
export function docsPath(page: string, heading = ''): string {
  const path = page === '' ? DOCS : `${DOCS}/${page}`;
  return heading === '' ? path : `${path}#${heading}`;
}

/** Returns the path of the functions of a group. */
export function groupPath(group: string, { cursor }: { cursor?: string | undefined } = {}): string {
  return `/functions/${encodeURIComponent(group)}${formatQuery({ cursor })}`;
}

export { functionPath };

export function releasePath(name: { group: string; kind: string; release: string }): string {
  return `${functionPath(name)}/releases/${encodeURIComponent(name.release)}`;
}

/** Returns the path of an image of a release's README. */
export function imagePath(name: { group: string; kind: string; release: string }, digest: string): string {
  return `${releasePath(name)}/images/${digest}`;
}

/** Tabs of a function's page, in their order. Each has an address of its own. */
export const FUNCTION_TABS = ['overview', 'configuration', 'releases', 'signatures', 'source'] as const;
export type FunctionTab = (typeof FUNCTION_TABS)[number];

/** Returns the path of a tab: of a release, or of the displayed one. All releases share the tab with their list. */
export function functionTabPath(
  { release, ...name }: { group: string; kind: string; release?: string | undefined },
  tab: FunctionTab,
): string {
  if (tab === 'releases') return `${functionPath(name)}/releases`;
  const of = release === undefined ? functionPath(name) : releasePath({ ...name, release });
  return tab === 'overview' ? of : `${of}/${tab}`;
}

/** Returns the path of a page of a function's releases, after one of them. */
export function functionReleasesPath(
  name: { group: string; kind: string },
  { after }: { after?: string | undefined } = {},
): string {
  return functionTabPath({ group: name.group, kind: name.kind }, 'releases') + formatQuery({ after });
}

export const OWNERS = '/owners';

/** Returns the path of the teams after one of them. */
export function ownersPath({ after }: { after?: string | undefined } = {}): string {
  return `${OWNERS}${formatQuery({ after })}`;
}

/** Returns the path of what a team owns. */
export function ownerPath(team: string, { cursor }: { cursor?: string | undefined } = {}): string {
  return `${OWNERS}/${encodeURIComponent(team)}${formatQuery({ cursor })}`;
}

export const POLICIES = '/policies';

export function policyPath(name: string): string {
  return `${POLICIES}/${encodeURIComponent(name)}`;
}

export function compareReleasesPath(
  name: { group: string; kind: string },
  { from, to }: { from: string; to: string },
): string {
  return `${functionPath(name)}/compare?${new URLSearchParams({ from, to })}`;
}

export function functionFeedPath(name: { group: string; kind: string }): string {
  return `${functionPath(name)}/releases.atom`;
}

export function catalogPath(name: string): string {
  return `/catalogs/${encodeURIComponent(name)}`;
}

/** Tabs of a catalog's page, in their order. `/catalogs/NAME/snapshots` is the API. */
export const CATALOG_TABS = ['functions', 'sources', 'report', 'history', 'trust', 'recipe'] as const;
export type CatalogTab = (typeof CATALOG_TABS)[number];

export function catalogTabPath(name: string, tab: CatalogTab): string {
  return tab === 'functions' ? catalogPath(name) : `${catalogPath(name)}/${tab}`;
}

/** Returns the path of a page of a catalog's snapshots: those before a serial. */
export function catalogHistoryPath(name: string, { before }: { before?: number | undefined } = {}): string {
  return `${catalogTabPath(name, 'history')}${formatQuery({ before: before?.toString() })}`;
}

export interface ContentsLink {
  /** Part of a name. */
  q?: string | undefined;
  source?: string | undefined;
  /** The last function of the previous page, as `group/kind`. */
  after?: string | undefined;
}

/** Returns the path of a page of a catalog's functions, which is a section of the catalog's page. */
export function catalogContentsPath(name: string, { q, source, after }: ContentsLink): string {
  return `${catalogPath(name)}${formatQuery({ q, source, after })}#contents`;
}

export function catalogReportPath(name: string, { of, after }: { of?: string; after?: string } = {}): string {
  return `${catalogPath(name)}/report${formatQuery({ of, after })}`;
}

export function compareSnapshotsPath(
  name: string,
  { from, to }: { from?: number | string; to?: number | string } = {},
): string {
  return `${catalogPath(name)}/compare${formatQuery({ from: from?.toString(), to: to?.toString() })}`;
}

export function catalogFeedPath(name: string): string {
  return `${catalogPath(name)}/snapshots.atom`;
}

/** Omits absent and empty values. */
function formatQuery(parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(
    Object.entries(parameters).filter((entry): entry is [string, string] => (entry[1] ?? '') !== ''),
  ).toString();
  return query === '' ? '' : `?${query}`;
}

/** Returns the path of the events before a sequence, for everyone. */
export function publicEventsPath({ before }: { before?: number | undefined } = {}): string {
  return `${PUBLIC_EVENTS}${formatQuery({ before: before?.toString() })}`;
}

export const SIGN_IN = '/sign-in';
export const SIGN_OUT = '/sign-out';
/** The page on which a user allows a program to sign in. */
export const DEVICE_LOGIN = '/login/device';
export const TOKENS = '/operate/tokens';
export const NEW_TOKEN = '/operate/tokens/new';
export const RECIPES = '/operate/recipes';
/** The part of that page with the recipes of krmhub. */
export const READY_RECIPES = 'ready-recipes';
export const RELEASES = '/operate/releases';
export const EVENTS = '/operate/events';
export const AUDIT = '/operate/audit';
export const OPERATE_ACCESS = '/operate/access';
export const OPERATE_PUBLISHERS = '/operate/publishers';
export const OPERATE_POLICIES = '/operate/policies';
export const USERS = '/operate/users';
/** Ends all sessions of the signed-in user but the one of the request. */
export const END_OTHER_SESSIONS = '/operate/sessions/end';

export function signInPath(from: string, { hasEnded = false } = {}): string {
  const parameters = new URLSearchParams(
    defined({ from: from === OPERATE ? undefined : from, ended: hasEnded ? 'true' : undefined }),
  ).toString();
  return parameters === '' ? SIGN_IN : `${SIGN_IN}?${parameters}`;
}

/** Returns the path that leads to a provider. */
export function startSignInPath(provider: string, from: string): string {
  return `${SIGN_IN}/${encodeURIComponent(provider)}/start${formatQuery({ from })}`;
}

/** Whether a page shows who is signed in by itself, or nobody is. */
export function isOperatorPath(path: string): boolean {
  return [OPERATE, SIGN_IN, SIGN_OUT, DEVICE_LOGIN].some((own) => path === own || path.startsWith(`${own}/`));
}

/** Returns the path of the form that ends a session of the signed-in user. */
export function endSessionPath(session: string): string {
  return `/operate/sessions/${session}/end`;
}

export function usersPath(query: { q: string; after?: string }): string {
  return `${USERS}${formatQuery(query)}`;
}

/** Returns the path of a form about a user. */
export function userPath({ id }: { id: string }, action: 'suspend' | 'restore' | 'sign-out'): string {
  return `${USERS}/${id}/${action}`;
}

export interface SourcesLink {
  catalog?: string | undefined;
  /** Only those with problems. */
  hasProblems?: boolean;
  /** Catalog and source that were just synced. */
  synced?: string | undefined;
  page?: number | undefined;
}

export function sourcesPath({
  catalog,
  hasProblems = false,
  synced: asked,
  page = 1,
}: SourcesLink = {}): string {
  const parameters = new URLSearchParams(
    defined({
      catalog,
      problems: hasProblems ? 'true' : undefined,
      asked,
      page: page === 1 ? undefined : String(page),
    }),
  ).toString();
  return parameters === '' ? '/operate/sources' : `/operate/sources?${parameters}`;
}

export function syncSourcePath({ catalog, source }: { catalog: string; source: string }): string {
  return `/operate/sources/${encodeURIComponent(catalog)}/${encodeURIComponent(source)}/ask`;
}

export function createdTokenPath({ id }: { id: string }): string {
  return `${TOKENS}/${encodeURIComponent(id)}/created`;
}

export function revokeTokenPath({ id }: { id: string }): string {
  return `${TOKENS}/${encodeURIComponent(id)}/revoke`;
}

/** Returns a page of trusted publishers, which says what was just changed. */
export function publishersPath({
  page,
  added,
  hasRemoved = false,
}: {
  page?: number;
  added?: string;
  hasRemoved?: boolean;
} = {}): string {
  const removed = hasRemoved ? 'true' : undefined;
  return `${OPERATE_PUBLISHERS}${formatQuery({ page: page?.toString(), added, removed })}`;
}

export function removePublisherPath({ id }: { id: string }): string {
  return `${OPERATE_PUBLISHERS}/${encodeURIComponent(id)}/remove`;
}

export function recipePath(name: string): string {
  return `${RECIPES}/${encodeURIComponent(name)}`;
}

/** Returns the path of a release on the pages of operators. */
export function operateReleasePath(name: { group: string; kind: string; release: string }): string {
  return `${RELEASES}/${[name.group, name.kind, name.release].map(encodeURIComponent).join('/')}`;
}

export function takedownPath(name: { group: string; kind: string; release: string }): string {
  return `${operateReleasePath(name)}/takedown`;
}

/** Returns the path of the audit log, of the rows that match. */
export function operateAuditPath({
  before,
  ...filter
}: Partial<Record<'actor' | 'action' | 'object' | 'outcome', string | undefined>> & {
  before?: number | undefined;
} = {}): string {
  return `${AUDIT}${formatQuery({ ...filter, before: before?.toString() })}`;
}

export function operateEventsPath({
  by,
  before,
}: {
  by?: string | undefined;
  before?: number | undefined;
} = {}): string {
  return `${EVENTS}${formatQuery({ by, before: before?.toString() })}`;
}
