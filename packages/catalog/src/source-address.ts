/** Where a catalog is fetched from. */
export type SourceAddress =
  | { type: 'http'; url: string }
  /** `path` is a file in the repository; `ref` a branch, tag or commit, absent for the default branch. */
  | { type: 'git'; repository: string; path: string; ref?: string }
  /** A reference such as `host/repository:tag` or `host/repository@sha256:…`. */
  | { type: 'oci'; reference: string }
  | { type: 'file'; path: string };

export type ReadAddress = { ok: true; address: SourceAddress } | { ok: false; reason: string; hint?: string };

const SCHEMES =
  'Write https://host/catalog.yaml, git::https://host/repository.git//path?ref=v1, oci://host/repository:tag or file:path.';
/** What git takes as a ref and nothing else can misread (git-check-ref-format). */
const REF = /^(?![-./])(?!.*(?:\.\.|\/\/|@\{|\.lock(?:\/|$)|[./]$))[A-Za-z0-9._/@+-]{1,255}$/;
const REPOSITORY_SCHEMES = ['https:', 'http:', 'ssh:'];

/**
 * Reads the address of a catalog: `http(s)://…`, `git::SCHEME://host/repository//path?ref=REF`, `oci://…` or
 * `file:path`. Addresses hold no credentials: those are the machine's, and recipes are read by everybody.
 */
export function readSourceAddress(text: string): ReadAddress {
  if (/[\u0000-\u0020\u007f]/.test(text)) return refused('it holds a space or a control character');
  if (text.startsWith('git::')) return readGit(text.slice('git::'.length));
  if (text.startsWith('oci://')) return readOci(text.slice('oci://'.length));
  if (/^https?:\/\//i.test(text)) return readHttp(text);
  if (text.startsWith('file:')) return readFile(text.slice('file:'.length));
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(text)?.[0];
  return refused(
    scheme === undefined ? 'it names no way to get there' : `"${scheme}" is no way to get a catalog`,
    SCHEMES,
  );
}

function readHttp(text: string): ReadAddress {
  const url = parse(text);
  if (url === undefined) return refused('it is no URL');
  if (url.username !== '' || url.password !== '') return credentials();
  if (url.hash !== '')
    return refused('it has a fragment, which no server is told', 'Leave out what begins with #.');
  return { ok: true, address: { type: 'http', url: url.href } };
}

function readGit(text: string): ReadAddress {
  const url = parse(text);
  if (url === undefined || !REPOSITORY_SCHEMES.includes(url.protocol)) {
    return refused(
      'a repository is named by https:// or ssh://',
      'Write git::https://host/repository.git//path/catalog.yaml?ref=v1.',
    );
  }
  if (url.password !== '' || (url.username !== '' && url.protocol !== 'ssh:')) return credentials();
  // What begins with a dash is an option of the programs that git starts.
  if (/^-/.test(url.hostname) || /^-/.test(decoded(url.username) ?? '-'))
    return refused('its host or user begins with a dash');
  if (url.hash !== '') return refused('it has a fragment', 'Write the branch, tag or commit as ?ref=.');
  const at = url.pathname.indexOf('//', 1);
  const path = at < 0 ? undefined : decoded(url.pathname.slice(at + 2));
  if (path === undefined || path === '') {
    return refused(
      'it does not say which file of the repository is the catalog',
      'Add //path/catalog.yaml after the repository.',
    );
  }
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..' || part === '.git')) {
    return refused(`"${path}" is no path of a file in a repository`);
  }
  const others = [...url.searchParams.keys()].filter((name) => name !== 'ref');
  if (others.length > 0)
    return refused(`"${others[0]}" is no parameter of a git address`, 'The only one is ref.');
  const refs = url.searchParams.getAll('ref');
  const [ref] = refs;
  if (refs.length > 1) return refused('it has more than one ref');
  if (ref !== undefined && !REF.test(ref)) return refused(`"${ref}" is no branch, tag or commit`);
  url.pathname = url.pathname.slice(0, at);
  url.search = '';
  return {
    ok: true,
    address: { type: 'git', repository: url.href, path, ...(ref === undefined ? {} : { ref }) },
  };
}

function readOci(reference: string): ReadAddress {
  if (/[?#]/.test(reference)) return refused('a reference has neither ? nor #');
  if (reference.includes('@') && !/@sha256:[a-f0-9]{64}$/.test(reference)) {
    return refused(
      'after @ it has no sha256 digest',
      'Write oci://host/repository:tag or oci://host/repository@sha256:….',
    );
  }
  const [host = '', ...rest] = reference.split('/');
  if (!/[.:]|^localhost$/.test(host) || rest.join('/') === '') {
    return refused('it names no registry and repository', 'Write oci://host/repository:tag.');
  }
  if (!/[:@]/.test(rest.at(-1)!))
    return refused('it has neither a tag nor a digest', 'Write oci://host/repository:tag.');
  return { ok: true, address: { type: 'oci', reference } };
}

function readFile(path: string): ReadAddress {
  if (path === '' || path.startsWith('//')) {
    return refused('it names no file', 'Write file:path, relative to the folder of sources, or file:/path.');
  }
  return { ok: true, address: { type: 'file', path } };
}

function parse(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function credentials(): ReadAddress {
  return refused(
    'it holds credentials, and recipes are read by everybody',
    'Give them to the program that fetches it, by origin.',
  );
}

function refused(reason: string, hint?: string): ReadAddress {
  return { ok: false, reason, ...(hint === undefined ? {} : { hint }) };
}
