import type { Path } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import { parseUrl } from '../names/parse-url.js';
import type { Report } from './rule.js';

const SCHEMES = new Set(['https', 'http', 'oci', 'git', 'ssh', 'git+https', 'git+ssh', 'git+http']);
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
const AUTHORITY = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/?#]+[^\s]*$/;
/** Schemes that run code or show other content when a user follows the link. */
const UNSAFE_SCHEME = /^(?:javascript|data|vbscript|file|blob|about|view-source):/i;
/** Schemes in texts that are rarely links. A name can be `Data: Acme`. */
const UNSAFE_TEXT = /^(?:javascript:|vbscript:|data:[\w/+.-]*[;,]|file:\/|blob:http)/i;
const BRANCH = '(?:master|main|HEAD|trunk|develop|development|dev|latest|unstable)';
const MOVING_BRANCHES = [
  new RegExp(`/(?:tree|blob|raw|edit|src/branch|refs/heads|refs)/${BRANCH}(?=[/?#]|$)`),
  new RegExp(`//raw\\.githubusercontent\\.com/[^/]+/[^/]+/${BRANCH}/`),
  /\/refs\/heads\//,
  new RegExp(`[?&]ref=${BRANCH}(?=[&#]|$)`),
];

/** Checks a link to a document: it must be an absolute URL with stable content. */
export function checkLink(text: string, path: Path, report: Report): void {
  if (text.trim() === '') return;
  const url = text.replace(/^git::/, '');
  const scheme = SCHEME.exec(url)?.[1]?.toLowerCase();
  if (isUnsafe(url) || (scheme !== undefined && url.includes('://') && !SCHEMES.has(scheme))) {
    report('link/scheme', path, `${quote(text)} has a scheme that can run code`);
    return;
  }
  if (scheme === undefined || !SCHEMES.has(scheme) || !AUTHORITY.test(url) || parseUrl(url) === undefined) {
    const bare = /^[\w-]+(?:\.[\w-]+)+(?:[:/]\S*)?$/.test(text);
    report('link/form', path, `${quote(text)} is not an absolute URL`, {
      hint: bare ? `Write ${quote(`https://${text}`)}.` : 'Use a URL that begins with `https://`.',
    });
    return;
  }
  checkCredentials(url, path, report);
  const branch = MOVING_BRANCHES.map((pattern) => pattern.exec(url)?.[0]).find(
    (found) => found !== undefined,
  );
  if (branch !== undefined) {
    report('link/moving-branch', path, `the link points to a branch (${branch}), whose content changes`, {
      hint: 'Use the tag or the commit of the release instead of the branch.',
    });
  }
}

/** Checks a text that can be a link, such as a publisher. */
export function checkPossibleLink(text: string, path: Path, report: Report): void {
  if (isUnsafe(text, UNSAFE_TEXT))
    report('link/scheme', path, `${quote(text)} has a scheme that can run code`);
  else if (/^https?:\/\//i.test(text) && parseUrl(text) !== undefined) checkCredentials(text, path, report);
}

/** Reports credentials in an absolute URL. A user name without a password is common with git over ssh. */
export function checkCredentials(url: string, path: Path, report: Report): void {
  const { protocol, username, password } = new URL(url);
  if (password === '' && (username === '' || !/^https?:$/.test(protocol))) return;
  report('link/credentials', path, 'the link contains a user name or password, which everyone can read');
}

function isUnsafe(text: string, schemes = UNSAFE_SCHEME): boolean {
  // Browsers ignore white space and control characters in a scheme.
  return schemes.test(text.slice(0, 200).replace(/[\u0000-\u0020\u007f]/g, ''));
}
