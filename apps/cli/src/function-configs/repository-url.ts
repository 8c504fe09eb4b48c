import { defined } from '@krmhub/schema/defined';

/** A git repository in the forms that kustomize takes for bases (kustomize, `NewRepoSpecFromURL`). */
export interface RepositoryUrl {
  /** URL of the repository: https, http, ssh or file. */
  repository: string;
  /** Folder in the repository; empty for its root. */
  path: string;
  /** Branch, tag or commit; absent for the default branch. */
  ref?: string;
}

const USER = /^([a-zA-Z][a-zA-Z0-9-]*)@/;
/** Of a repository without a marker, as on most hosts: organization and name. */
const REPOSITORY_SEGMENTS = 2;

/** Parses the URL of a base; undefined for what kustomize takes for a local path. */
export function parseRepositoryUrl(text: string): RepositoryUrl | undefined {
  if (text.startsWith('/')) return undefined;
  const question = text.indexOf('?');
  const address = question < 0 ? text : text.slice(0, question);
  const ref = readRef(question < 0 ? '' : text.slice(question + 1));
  const found = splitHost(address.replace(/^git::/i, ''));
  if (found === undefined) return undefined;
  const { origin, rest, isFile } = found;
  const split = splitPath(rest, isFile);
  if (split === undefined) return undefined;
  return { repository: origin + split.repository, path: split.path, ...defined({ ref }) };
}

/** Reports whether kustomize asks a server for it before it looks for a repository. */
export function isRemoteFile(text: string): boolean {
  return /^https?:/i.test(text);
}

function readRef(query: string): string | undefined {
  const values = new URLSearchParams(query);
  return values.get('ref') || values.get('version') || undefined;
}

/** Splits off scheme, user and host; `origin` ends where the path of the repository begins. */
function splitHost(text: string): { origin: string; rest: string; isFile: boolean } | undefined {
  const [, written] = /^(ssh|https|http|file):\/\//i.exec(text) ?? [];
  const scheme = written?.toLowerCase();
  let rest = written === undefined ? text : text.slice(written.length + '://'.length);
  if (scheme === 'file') return { origin: 'file://', rest, isFile: true };
  const user = USER.exec(rest)?.[1];
  if (user !== undefined) rest = rest.slice(user.length + 1);
  const isGithub = /^github\.com[/:]/i.test(rest);
  // `user@host:path` has no scheme; only this host may leave out the user too.
  const isScp = scheme === undefined && (user !== undefined || isGithub);
  if (scheme === undefined && !isScp) return undefined;
  const slash = rest.indexOf('/');
  const colon = rest.indexOf(':');
  const end = isScp && (slash < 0 || (colon > 0 && colon < slash)) ? colon : slash;
  if (end <= 0) return undefined;
  const host = rest.slice(0, end);
  const path = rest.slice(end + 1);
  if (isGithub) {
    const origin =
      scheme === 'ssh' || user !== undefined ? `ssh://${user ?? 'git'}@github.com/` : 'https://github.com/';
    return { origin, rest: path, isFile: false };
  }
  const protocol = scheme ?? 'ssh';
  return {
    origin: `${protocol}://${user === undefined ? '' : `${user}@`}${host}/`,
    rest: path,
    isFile: false,
  };
}

/** Splits the path of the repository from the folder in it: by a marker, else by the number of segments. */
function splitPath(text: string, isFile: boolean): { repository: string; path: string } | undefined {
  const parts = splitAtMarker(text) ?? (isFile ? [text, ''] : splitSegments(text));
  if (parts === undefined) return undefined;
  const [repository, folder] = parts;
  const path = folder.replace(/^\/+/, '').replace(/\/+$/, '');
  if (repository === '' || normalize(path).startsWith('..')) return undefined;
  return { repository, path };
}

function splitAtMarker(text: string): [string, string] | undefined {
  const azure = text.indexOf('_git/');
  if (azure >= 0) {
    const start = azure + '_git/'.length;
    const end = text.indexOf('/', start);
    return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end)];
  }
  const slashes = text.indexOf('//');
  if (slashes >= 0) return [text.slice(0, slashes), text.slice(slashes + 2)];
  const suffix = text.indexOf('.git');
  if (suffix < 0) return undefined;
  const end = suffix + '.git'.length;
  return [text.slice(0, end), text.slice(end)];
}

function splitSegments(text: string): [string, string] | undefined {
  const segments = text.split('/');
  if (segments.length < REPOSITORY_SEGMENTS) return undefined;
  return [segments.slice(0, REPOSITORY_SEGMENTS).join('/'), segments.slice(REPOSITORY_SEGMENTS).join('/')];
}

/** Resolves `.` and `..` of a path with slashes. */
function normalize(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else parts.push(part);
  }
  return parts.join('/');
}
