import type { SourceWarning } from '@krmhub/schema';
import { loadPublicSuffixes } from '@krmhub/schema/libraries/lazy-libraries';
import { differsInOne } from '@krmhub/schema/suggest';

/** A known group that a new one looks like. */
export interface LookAlike {
  group: string;
  /** How they are alike, as a sentence without a subject of its own. */
  reason: string;
}

/** A group, with what is compared. Groups are lower-case ASCII, so that no other alphabet can imitate their letters. */
interface Name {
  text: string;
  labels: string[];
  /** What a registrar sells: `example.co.uk` of `a.example.co.uk`; all of a group that is a public suffix. */
  domain: string;
  /** The first label of the domain. */
  owner: string;
  /** Whether the rest of the domain is in the Public Suffix List. */
  isPublic: boolean;
  /** The labels in order. */
  sorted: string;
  /** The group as it looks, and its domain as it looks, between dots. */
  looks: string;
  domainLooks: string;
  /** Both, and the owner, without dots and hyphens. */
  bare: string;
  bareDomain: string;
  bareOwner: string;
}

/**
 * What characters look like in many fonts. One stands for two, not two for one, so that the result is unique: `vvv` for
 * `wv` and `vw`.
 */
const LOOKS: Readonly<Record<string, string>> = {
  m: 'rn',
  w: 'vv',
  d: 'cl',
  '0': 'o',
  '1': 'l',
  i: 'l',
  '2': 'z',
  '5': 's',
  '8': 'b',
  '9': 'g',
};
const ALIKE = new RegExp(`[${Object.keys(LOOKS).join('')}]`, 'g');
/** Shorter names have too many neighbors that differ in one character. */
const MIN_OWNER_LENGTH = 3;
/** The same for names below different public suffixes: fewer of them are typing errors. */
const MIN_OWNER_LENGTH_OTHER_SUFFIX = 6;
const MIN_LABEL_LENGTH = 5;
/** A shorter name without its dots is a word. */
const MIN_JOINED_LENGTH = 5;

/**
 * Returns a function that finds the first known group that another group looks like. Both are linear in the number of
 * known groups. A group never looks like itself.
 */
export function lookAlikeFinder(known: readonly string[]): (group: string) => LookAlike | undefined {
  const names = known.map(readName);
  return (group) => {
    const name = readName(group);
    for (const other of names) {
      const reason = other.text === group ? undefined : describeLikeness(name, other);
      if (reason !== undefined) return { group: other.text, reason };
    }
    return undefined;
  };
}

/** Returns the label of a group that encodes letters of other alphabets; undefined if there is none. */
export function findEncodedLabel(group: string): string | undefined {
  return group.split('.').find((label) => label.startsWith('xn--'));
}

/** A group that a new one must not look like. */
export interface KnownGroup {
  group: string;
  /** What names it: the group itself, or the pattern of groups of which it is the domain. */
  by: string;
}

/** The part after the last label with a `*`, if it has a dot: a whole group, or `example.com` of `*.example.com`. */
const DOMAIN_OF_PATTERN = /^(?:.*\*[^.]*\.)?([^*.]+\.[^*]+)$/;

/** Returns the groups that belong to a team, whether or not they have functions: by rules for groups, and by claims. */
export function ownedNames(
  rules: readonly { pattern: string; owner?: string }[],
  claims: readonly { group: string }[],
): KnownGroup[] {
  const given = rules.flatMap(({ owner, pattern }) => {
    const domain = owner === undefined ? undefined : DOMAIN_OF_PATTERN.exec(pattern)?.[1];
    return domain === undefined ? [] : [{ group: domain, by: pattern }];
  });
  return [...claims.map(({ group }) => ({ group, by: group })), ...given];
}

/** Warnings about one source. */
const MAX_WARNINGS = 100;
/** Groups of one source that are compared. */
const MAX_COMPARED = 1_000;

/**
 * Returns the first warnings about groups of an upstream source that look like a group of this registry, or have letters
 * of another alphabet.
 */
export function lookAlikeWarnings(groups: Iterable<string>, known: readonly KnownGroup[]): SourceWarning[] {
  const names = new Map(known.map(({ group, by }) => [group, by]));
  const find = lookAlikeFinder([...names.keys()]);
  const others = [...new Set(groups)].filter((group) => !names.has(group)).slice(0, MAX_COMPARED);
  return others
    .flatMap((group): SourceWarning[] => {
      const encoded = findEncodedLabel(group);
      const found = encoded === undefined ? find(group) : undefined;
      const like = encoded === undefined ? found && names.get(found.group) : group;
      if (like === undefined) return [];
      const message =
        found === undefined
          ? `the group ${group} has the label ${encoded}, which encodes letters of another alphabet`
          : `the group ${group} looks like the group ${like} of this registry: ${found.reason}`;
      return [{ code: 'look-alike-group', group, message, like }];
    })
    .slice(0, MAX_WARNINGS);
}

/** Returns the kind of a group that differs from a new kind in one character; undefined if there is none. */
export function findSimilarKind(kind: string, kinds: readonly string[]): string | undefined {
  const folded = kind.toLowerCase();
  if (folded.length < MIN_LABEL_LENGTH) return undefined;
  return kinds.find((other) => differsInOne(folded, other.toLowerCase()));
}

function describeLikeness(name: Name, other: Name): string | undefined {
  if (name.bare === other.bare) return 'both look the same';
  if (name.domain === other.domain) return describeLabel(name, other);
  if (name.bareDomain === other.bareDomain) return `${name.domain} and ${other.domain} look the same`;
  // One name below two public suffixes, as example.com and example.co.uk, is not a typing error.
  if (name.owner === other.owner && name.isPublic && other.isPublic) return undefined;
  const length = Math.min(name.owner.length, other.owner.length);
  if (length >= MIN_OWNER_LENGTH && differsInOne(name.domain, other.domain)) {
    return `${name.domain} differs from ${other.domain} in one character`;
  }
  if (name.isPublic && other.isPublic) {
    // Readers remember the name more than what follows it.
    if (name.bareOwner === other.bareOwner) return `${name.owner} and ${other.owner} look the same`;
    if (length >= MIN_OWNER_LENGTH_OTHER_SUFFIX && differsInOne(name.owner, other.owner)) {
      return `${name.owner} differs from ${other.owner} in one character`;
    }
  }
  if (name.looks.includes(other.domainLooks)) return `it contains ${other.domain}`;
  if (other.domain.length > MIN_JOINED_LENGTH && name.bare.includes(other.bareDomain)) {
    const bareLabels = name.labels.map((label) => withoutMarks(look(label)));
    const at = bareLabels.findIndex((label) => label === other.bareDomain || label === other.bare);
    if (at >= 0) return `its label "${name.labels[at]}" is ${other.domain} without dots`;
  }
  return name.sorted === other.sorted ? 'it has the same labels in another order' : undefined;
}

/** Compares two groups of one domain: one of their labels may differ in a character. */
function describeLabel(name: Name, other: Name): string | undefined {
  if (name.labels.length !== other.labels.length) return undefined;
  const [at, ...more] = name.labels.flatMap((label, index) => (label === other.labels[index] ? [] : [index]));
  if (at === undefined || more.length > 0) return undefined;
  const [label, otherLabel] = [name.labels[at]!, other.labels[at]!];
  if (Math.min(label.length, otherLabel.length) < MIN_LABEL_LENGTH) return undefined;
  if (!differsInOne(label, otherLabel) || isSibling(label, otherLabel)) return undefined;
  return `its label "${label}" differs from "${otherLabel}" in one character`;
}

/** Reports whether the difference is a number or a short part, as in `team-1` and `team-2`, `app-eu` and `app-us`. */
function isSibling(label: string, other: string): boolean {
  const parts = label.split('-');
  const others = other.split('-');
  if (parts.length !== others.length) return false;
  return parts.every((part, index) => {
    const [one, two] = [part, others[index]!];
    const isShort = Math.max(one.length, two.length) <= 2;
    return one === two || isShort || one.replace(/\d+$/, '') === two.replace(/\d+$/, '');
  });
}

function readName(text: string): Name {
  const { domain, domainWithoutSuffix, isIcann, isPrivate } = loadPublicSuffixes().parse(text, {
    allowPrivateDomains: true,
    extractHostname: false,
    validateHostname: false,
  });
  const labels = text.split('.');
  const looks = `.${look(text)}.`;
  const domainLooks = domain === null || domain === text ? looks : `.${look(domain)}.`;
  const owner = domainWithoutSuffix ?? labels[0]!;
  return {
    text,
    labels,
    domain: domain ?? text,
    owner,
    isPublic: isIcann === true || isPrivate === true,
    sorted: [...labels].sort().join('.'),
    looks,
    domainLooks,
    bare: withoutMarks(looks),
    bareDomain: withoutMarks(domainLooks),
    bareOwner: withoutMarks(look(owner)),
  };
}

function look(text: string): string {
  return text.replace(ALIKE, (seen) => LOOKS[seen]!);
}

function withoutMarks(text: string): string {
  return text.replace(/[.-]/g, '');
}
