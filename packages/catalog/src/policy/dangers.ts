import { loadPublicSuffixes } from '@krmhub/schema/libraries/lazy-libraries';
import { parseUrl } from '@krmhub/schema/parse-url';
import semver from 'semver';
import type { PolicyCode } from './codes.js';
import { type PatternPath, patternPaths, sampleText } from './pattern-samples.js';

/**
 * Finds signers that a valid policy trusts by mistake. Each finding is a warning with an example, because only the
 * author knows the intent.
 */

export interface Danger {
  code: PolicyCode;
  message: string;
  /** Instead of the hint of the code. */
  hint?: string;
}

/** The widths of patterns, broadest first, with a description of what such a pattern also trusts. */
const WIDTHS = {
  any: 'every subject of its issuer',
  host: 'subjects on other hosts',
  domain: 'addresses in other domains',
  address: 'addresses that everyone can register',
  owner: 'repositories of other owners',
  repository: 'other repositories of the owner',
  ref: 'other branches and pull requests',
} as const;
type Width = keyof typeof WIDTHS;
const WIDEST_FIRST = Object.keys(WIDTHS) as Width[];

const WORKFLOW = '.github/workflows/release.yaml';
const STRANGERS = [
  `https://github.com/attacker/functions/${WORKFLOW}@refs/heads/attacker`,
  'attacker@attacker.example',
];
/**
 * The rest of a subject after a name that an attacker chooses. A pattern can fix the branch or tag, and the workflow.
 */
const RESTS = [`${WORKFLOW}@refs/heads/main`, WORKFLOW, '.github/workflows'];
/** Names that an attacker can register, for each part of a subject where a wildcard can start. */
const CHOSEN_TEXTS = [
  ...STRANGERS,
  ...RESTS.map((rest) => `https://github.com/attacker/functions/${rest}`),
  ...['attacker.example', '.attacker.example', '-attacker.example'].flatMap((host) => [
    ...RESTS.map((rest) => `${host}/attacker/functions/${rest}`),
    host,
  ]),
  'attacker@attacker-',
  ...['attacker', '-attacker'].flatMap((name) => [
    ...RESTS.flatMap((rest) => [`${name}/functions/${rest}`, `${name}/${rest}`]),
    name,
  ]),
  `${WORKFLOW}@refs/heads/attacker`,
  'release.yaml@refs/heads/attacker',
  '@refs/heads/attacker',
  'refs/heads/attacker',
  'heads/attacker',
  'refs/pull/1/merge',
  'pull/1/merge',
  '1/merge',
];
/** Matches a realistic subject, which is a better example than other matching texts. */
const WORKFLOW_SUBJECT =
  /^https:\/\/[^/@]+\/[^/@]+\/[^/@.]+\/\.github\/workflows\/[^/@]+\.yaml@refs\/\w+\/[^@]+$/;
/** Maximum number of matched examples, because matching is slow for hostile patterns. */
const MAX_MATCHES = 3;

/** Finds the dangers of a pattern for the subjects of an issuer. */
export function patternDangers(pattern: string, matches: (subject: string) => boolean): Danger[] {
  const paths = patternPaths(pattern);
  const dangers: Danger[] = [];
  const wide = findWideMatch(paths, matches);
  if (wide !== undefined) {
    const message = `the pattern also trusts ${WIDTHS[wide.width]}, for example ${wide.subject}`;
    dangers.push({ code: 'policy/broad-pattern', message });
  }
  const dotted = findLoneDotMatch(paths, matches);
  if (dotted !== undefined) {
    const message = `a dot without a backslash matches any character: the pattern also trusts ${dotted}`;
    dangers.push({ code: 'policy/unescaped-dot', message });
  }
  return dangers;
}

function findWideMatch(
  paths: readonly PatternPath[],
  matches: (subject: string) => boolean,
): { width: Width; subject: string } | undefined {
  const stranger = STRANGERS.find(matches);
  if (stranger !== undefined) return { width: 'any', subject: stranger };
  const found: { width: Width; subject: string }[] = [];
  for (const path of paths) {
    const literals = path.filter((piece) => typeof piece === 'string').join('');
    // For a pattern of an email address, a workflow would not be a realistic example.
    const isMail = literals.includes('@') && !literals.includes('/');
    for (const [at, piece] of path.entries()) {
      if (typeof piece === 'string') continue;
      for (const text of CHOSEN_TEXTS) {
        const subject = piece.allows(text) ? sampleText(path, at, text) : undefined;
        if (subject === undefined || (isMail && subject.includes('/'))) continue;
        const width = chosenWidth(subject);
        if (width !== undefined) found.push({ width, subject });
      }
    }
  }
  return found
    .sort(
      (a, b) =>
        WIDEST_FIRST.indexOf(a.width) - WIDEST_FIRST.indexOf(b.width) ||
        Number(WORKFLOW_SUBJECT.test(b.subject)) - Number(WORKFLOW_SUBJECT.test(a.subject)) ||
        a.subject.length - b.subject.length,
    )
    .slice(0, MAX_MATCHES)
    .find(({ subject }) => matches(subject));
}

/**
 * Returns the part of a subject that the attacker chose; undefined for parts without danger, such as the name of a tag.
 */
function chosenWidth(subject: string): Width | undefined {
  const [, local = '', domain] = /^([^@/\s]+)@([^@/\s]+)$/.exec(subject) ?? [];
  if (domain !== undefined) {
    if (isChosenDomain(domain)) return 'domain';
    return local.includes('attacker') && MAIL_PROVIDERS.test(domain) ? 'address' : undefined;
  }
  const url = /^https?:\/\/([^@/\s]+)\/([^@/\s]+)\/([^@/\s]+)\/[^@\s]*@(\S+)$/.exec(subject);
  if (url === null) return undefined;
  const [, host, owner, repository, ref] = url;
  if (isChosenDomain(host!)) return 'host';
  if (owner!.includes('attacker')) return 'owner';
  if (repository!.includes('attacker')) return 'repository';
  return /^refs\/(?:heads\/attacker|pull\/1\/merge)/.test(ref!) ? 'ref' : undefined;
}

/** Domains in which everyone gets an address: the best-known of thousands. */
const MAIL_PROVIDERS =
  /^(?:(?:aol|fastmail|gmail|gmx|googlemail|hotmail|icloud|live|mac|mail|me|msn|naver|outlook|pm|proton|protonmail|tuta|tutanota|web|yahoo|yandex|ymail|zoho|126|163)\.(?:[a-z]{2,3}|com?\.[a-z]{2})|(?:foxmail|qq|hey|duck|rediffmail)\.com|users\.noreply\.github\.com)$/;
/** Domains with subdomains for everyone that are not in the Public Suffix List. */
const SHARED_DOMAINS = /\.(?:iam\.gserviceaccount\.com|onmicrosoft\.com)$/;

/** Reports whether an attacker controls the registrable part of a domain, not only a subdomain. */
function isChosenDomain(domain: string): boolean {
  const own = domain.replace(SHARED_DOMAINS, '');
  const registered = own === domain ? registrableDomain(domain) : own.split('.').at(-1);
  return (registered ?? domain).includes('attacker');
}

/** Returns the part of a domain that one owner registers; undefined for a public suffix such as `co.uk`. */
function registrableDomain(domain: string): string | undefined {
  const options = { allowPrivateDomains: true, validateHostname: false };
  return loadPublicSuffixes().getDomain(domain, options) ?? undefined;
}

function findLoneDotMatch(
  paths: readonly PatternPath[],
  matches: (subject: string) => boolean,
): string | undefined {
  for (const path of paths) {
    const at = path.findIndex((piece) => typeof piece !== 'string' && piece.isLoneDot);
    const subject = at === -1 ? undefined : sampleText(path, at, '-');
    if (subject !== undefined) return matches(subject) ? subject : undefined;
  }
  return undefined;
}

/** Finds issuers that do not prove an identity. */
export function issuerDangers(issuer: string): Danger[] {
  if (/^http:/i.test(issuer)) {
    const message = `the issuer ${issuer} is not https: an attacker on its network can sign as any subject`;
    return [{ code: 'policy/insecure-issuer', message }];
  }
  // `exactDangers` reports a wildcard.
  if (parseUrl(issuer)?.protocol === 'https:' || issuer.includes('*')) return [];
  const message = `the issuer ${issuer} is not a URL, so no certificate has it`;
  return [{ code: 'policy/issuer-url', message }];
}

/** Finds exact texts that look like patterns. */
export function exactDangers(what: 'issuer' | 'subject', text: string): Danger[] {
  if (!text.includes('*')) return [];
  const message = `the ${what} ${text} is compared exactly: \`*\` is not a wildcard`;
  return [{ code: 'policy/literal-wildcard', message }];
}

/**
 * A glob that also covers domains that others can register: its last `*` does not end at a dot, or a public suffix
 * follows that dot, as in `*.com` and `*.co.uk`. `*` alone says so itself.
 */
export function groupDangers(glob: string): Danger[] {
  const last = glob.lastIndexOf('*');
  const rest = glob.slice(last + 1);
  if (last === -1 || glob === '*') return [];
  if (rest.startsWith('.') && registrableDomain(rest.slice(1)) !== undefined) return [];
  const example = glob.replaceAll('*', 'attacker');
  return [{ code: 'policy/broad-group', message: `the group ${glob} also covers ${example}` }];
}

/** Finds valid ranges that cannot match a release. */
export function rangeDangers(range: string): Danger[] {
  const { set } = new semver.Range(range, { includePrerelease: true });
  const lowest = set.flat().flatMap(({ semver: { version } }) => {
    // The comparator of `*` has no version.
    if (version === undefined) return [];
    const next = semver.inc(version, 'prepatch');
    return [version, `${version}${version.includes('-') ? '.0' : '-0'}`, ...(next === null ? [] : [next])];
  });
  const isEmpty = !['0.0.0-0', ...lowest].some((release) =>
    semver.satisfies(release, range, { includePrerelease: true }),
  );
  if (!isEmpty) return [];
  return [
    {
      code: 'policy/empty-range',
      message: `the range "${range}" cannot match any release, so the policy has no effect`,
    },
  ];
}
