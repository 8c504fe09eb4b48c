import { defined } from '@krmhub/schema/defined';
import { isSecretParameter } from '@krmhub/schema/hide-passwords';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { parseUrl } from '@krmhub/schema/parse-url';
import { locateCatalog } from '../policy/catalog-url.js';
import { RECIPE_LIMITS, type UpstreamCatalog } from './recipe.js';

/** The location of a catalog. */
export type SourceAddress =
  | { type: 'http'; url: string }
  /**
   * `path` is a file in the repository, or a folder if allowed (empty for the root). `ref` is a branch, tag, or commit,
   * absent for the default branch.
   */
  | { type: 'git'; repository: string; path: string; ref?: string }
  /** A reference such as `host/repository:tag` or `host/repository@sha256:…`. */
  | { type: 'oci'; reference: string }
  | { type: 'file'; path: string };

export type ReadAddress = { ok: true; address: SourceAddress } | { ok: false; reason: string; hint?: string };

const SCHEMES =
  'Use https://HOST/catalog.yaml, git::https://HOST/REPOSITORY.git//PATH?ref=v1, oci://HOST/REPOSITORY:TAG, or ./catalog.yaml.';
const GIT = 'Use git::https://HOST/REPOSITORY.git//PATH/catalog.yaml?ref=v1.';
const OCI = 'Use oci://HOST/REPOSITORY:TAG or oci://HOST/REPOSITORY@sha256:….';
/** Matches a safe git ref: not a refspec and not an option (git-check-ref-format). */
const REF = /^(?![-./+])(?!@$)(?!.*(?:\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)|[./]$))[A-Za-z0-9._/@+-]{1,255}$/;
const REPOSITORY_SCHEMES = ['https:', 'http:', 'ssh:'];
/** Matches a host without percent signs, because git decodes them and passes the host to other programs. */
const REPOSITORY_HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\.?|\[[0-9a-f:.]+\])$/i;
const REPOSITORY_USER = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const FILE_NAME = /^[^.\\][^\\]*\.(?:ya?ml|json)$/i;
const SPACE_OR_CONTROL = /[\p{C}\p{Z}]/u;

/**
 * Parses the location of a catalog: `http(s)://…`, `git::SCHEME://host/repository//path?ref=REF`, `oci://…`,
 * `file:path`, or a relative path. It rejects credentials, because recipes are public. With `folders`, a repository can
 * have a folder or no path.
 */
export function readSourceAddress(text: string, { folders = false } = {}): ReadAddress {
  const { maxAddressLength } = RECIPE_LIMITS;
  if (text.length > maxAddressLength) return invalid(`it is longer than ${maxAddressLength} characters`);
  if (SPACE_OR_CONTROL.test(text)) return invalid('it contains a space or a control character');
  if (text.startsWith('git::')) return readGit(text.slice('git::'.length), folders);
  if (text.startsWith('oci://')) return readOci(text.slice('oci://'.length));
  if (/^https?:\/\//i.test(text)) return readHttp(text);
  if (text.startsWith('file:')) return readFile(text.slice('file:'.length));
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0];
  if (scheme !== undefined) return invalid(`"${scheme}" is not a supported scheme`, SCHEMES);
  return readPath(text);
}

/** Returns a text that identifies what an address names: equal addresses have equal texts. */
export function formatSourceAddress(address: SourceAddress): string {
  switch (address.type) {
    case 'http':
      return address.url;
    case 'git':
      return `git::${address.repository}//${address.path}?ref=${address.ref ?? ''}`;
    case 'oci':
      return `oci://${address.reference}`;
    case 'file':
      return `file:${address.path}`;
  }
}

/**
 * Returns the host and port that credentials for an address are for, which are the same for files and for artifacts of one
 * registry; undefined if it has none, or git has them.
 */
export function addressServer(address: SourceAddress): string | undefined {
  const host = address.type === 'oci' ? address.reference.split('/')[0] : httpHost(address);
  return host?.toLowerCase().replace(/:(?:80|443)$/, '');
}

function httpHost(address: SourceAddress): string | undefined {
  return address.type === 'http' ? parseUrl(address.url)?.host : undefined;
}

/** Parses a relative path. It rejects text that looks like a URL without a scheme. */
function readPath(text: string): ReadAddress {
  const path = text.replace(/^(?:\.\/+)+/, '');
  const isMarked = path !== text || text.startsWith('../');
  const [first = '', ...rest] = path.split('/');
  const isName = rest.length === 0 ? FILE_NAME.test(first) : first !== '' && !first.includes('.');
  if (isMarked || isName) return readFile(path);
  const hint = rest.length > 0 && first !== '' ? `Use https://${text}, or ./${text} for a file.` : SCHEMES;
  return invalid('it has no scheme', hint);
}

/** Parses the location of a source. Only sources with a format can be folders. */
export function readUpstreamAddress({ url, format }: Pick<UpstreamCatalog, 'url' | 'format'>): ReadAddress {
  return readSourceAddress(url, { folders: format !== undefined });
}

/** Returns the name that the signature of a source must have; undefined if neither the recipe nor the URL has one. */
export function signedCatalogName(upstream: UpstreamCatalog): string | undefined {
  const read = upstream.name === undefined ? readUpstreamAddress(upstream) : undefined;
  if (read?.ok !== true) return upstream.name;
  const { address } = read;
  if (address.type === 'http') return locateCatalog(address.url)?.name;
  const reference = address.type === 'oci' ? parseImageReference(address.reference) : undefined;
  return reference?.ok === true
    ? locateCatalog(`https://${reference.host}/${reference.repository}`)?.name
    : undefined;
}

/** Reports whether a network attacker can change the response. Loopback addresses are secure. */
export function isInsecure(address: SourceAddress): boolean {
  if (address.type !== 'http' && address.type !== 'git') return false;
  const { protocol, hostname } = new URL(address.type === 'http' ? address.url : address.repository);
  return protocol === 'http:' && !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

function readHttp(text: string): ReadAddress {
  const url = parse(text);
  if (url === undefined) return invalid('it is not a URL');
  if (url.username !== '' || url.password !== '') return credentialsProblem();
  if (text.includes('#'))
    return invalid('a URL with a fragment is not supported', 'Remove # and the text after it.');
  const secret = [...url.searchParams.keys()].find(isSecretParameter);
  if (secret !== undefined) return credentialsProblem();
  return { ok: true, address: { type: 'http', url: url.href } };
}

function readGit(text: string, folders: boolean): ReadAddress {
  const url = parse(text);
  if (url === undefined || !REPOSITORY_SCHEMES.includes(url.protocol)) {
    return invalid('a git URL must begin with https:// or ssh://', GIT);
  }
  if (url.password !== '' || (url.username !== '' && url.protocol !== 'ssh:')) return credentialsProblem();
  if (!REPOSITORY_HOST.test(url.hostname)) return invalid('the host is not a valid host name');
  if (url.username !== '' && !REPOSITORY_USER.test(url.username))
    return invalid('the user is not a valid user name');
  if (text.includes('#')) return invalid('it has a fragment', 'Set the branch, tag, or commit with ?ref=.');
  const slashes = url.pathname.indexOf('//', 1);
  const at = slashes < 0 ? url.pathname.length : slashes;
  if (!folders && url.pathname.length <= at + 2) {
    return invalid(
      'the path of the catalog file in the repository is missing',
      'Add //PATH/catalog.yaml after the repository.',
    );
  }
  const repository = decode(url.pathname.slice(0, at));
  if (repository === undefined || SPACE_OR_CONTROL.test(repository) || repository.includes('\\')) {
    return invalid('the repository is missing', GIT);
  }
  const written = decode(url.pathname.slice(at + 2));
  const path = folders ? written?.replace(/\/$/, '') : written;
  if (path === undefined || !(isFilePath(path) || (folders && path === ''))) {
    return invalid('the text after // is not a file path in a repository', GIT);
  }
  const read = readRef(url.search.slice(1));
  if (!read.ok) return read;
  url.pathname = url.pathname.slice(0, at);
  url.search = '';
  return {
    ok: true,
    address: {
      type: 'git',
      repository: url.href,
      path,
      ...defined({ ref: read.ref }),
    },
  };
}

/** Matches a safe path of a file in a git tree: no options and no patterns. */
export function isFilePath(path: string): boolean {
  if (/[\p{Cc}\p{Zl}\p{Zp}\\]/u.test(path) || /^[-:]/.test(path)) return false;
  return path
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..' && !/^\.git$/i.test(part));
}

/** A plus is literal, as in names of tags, and not a space as in forms. */
function readRef(query: string): { ok: true; ref?: string } | (ReadAddress & { ok: false }) {
  if (query === '') return { ok: true };
  const [only = '', ...others] = query.split('&');
  const equals = only.indexOf('=');
  const name = equals < 0 ? only : only.slice(0, equals);
  const unknown = [name, ...others.map((other) => other.split('=')[0])].find((one) => one !== 'ref');
  if (unknown !== undefined)
    return invalid(`unknown parameter "${unknown}" of a git URL`, 'The only parameter is ref.');
  if (others.length > 0) return invalid('it has more than one ref');
  const ref = decode(equals < 0 ? '' : only.slice(equals + 1));
  if (ref === undefined || !REF.test(ref)) return invalid('its ref is not a valid branch, tag, or commit');
  return { ok: true, ref };
}

function readOci(text: string): ReadAddress {
  if (/[?#]/.test(text)) return invalid('a reference cannot contain ? or #');
  const slash = text.indexOf('/');
  if (text.slice(0, Math.max(slash, 0)).includes('@')) return credentialsProblem();
  const reference = parseImageReference(text);
  if (!reference.ok) return invalid(`it ${reference.reason}`, OCI);
  const { host, tag, digest } = reference;
  if (host === undefined || !/[.:]|^localhost$/.test(host)) return invalid('the registry is missing', OCI);
  if (tag === undefined && digest === undefined) return invalid('it has neither a tag nor a digest', OCI);
  return { ok: true, address: { type: 'oci', reference: text } };
}

function readFile(path: string): ReadAddress {
  if (path === '' || path.startsWith('//')) {
    return invalid('the file is missing', 'Use file:PATH, relative to the folder of sources, or file:/PATH.');
  }
  return { ok: true, address: { type: 'file', path } };
}

/** Some programs treat a backslash as a slash, others as a part of the name. */
function parse(text: string): URL | undefined {
  return text.includes('\\') ? undefined : parseUrl(text);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function credentialsProblem(): ReadAddress & { ok: false } {
  return invalid(
    'it contains credentials, but recipes are public',
    'Remove the credentials from the URL. The operator sets them with KRMHUB_SOURCE_CREDENTIALS.',
  );
}

function invalid(reason: string, hint?: string): ReadAddress & { ok: false } {
  return { ok: false, reason, ...defined({ hint }) };
}
