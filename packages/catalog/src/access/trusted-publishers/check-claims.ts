import { CI_PROVIDERS, type CiProvider, matchesGlob } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  type ClaimPath,
  type Claims,
  claimName,
  claimText,
  isIssuerOf,
  type ProviderPin,
  type ProviderRule,
  type ProviderSetting,
  provider,
} from './providers.js';

/** A workflow that may publish. Times are RFC 3339 in UTC. */
export interface TrustedPublisher {
  id: string;
  /** What it may publish: a group, or one function of it. */
  group: string;
  kind?: string;
  provider: CiProvider;
  issuer: string;
  /** By the names of the provider's settings. */
  settings: Readonly<Record<string, string>>;
  /** Identifiers by the names of the provider's pins. Those that are missing are taken from the first token. */
  pins: Readonly<Record<string, string>>;
  /** JSON Web Key Set (RFC 7517) of the issuer, instead of the keys that it serves. */
  keys?: string;
  /** The team that owned the group when the publisher was added: it ends with the rights of this team. */
  team?: string;
  createdAt: string;
  createdBy: string;
  /** Until when a token must have been exchanged for the first time; absent after that. */
  pendingUntil?: string;
  lastUsedAt?: string;
}

/** A claim that is not as a publisher wants it. */
export interface ClaimProblem {
  claim: string;
  expected: string;
  /** Absent if the token does not have the claim. */
  found?: string;
  why?: string;
}

/** The run of a workflow, as its provider described it. */
export interface WorkflowRun {
  provider: CiProvider;
  /** Absent for the usual one of the provider. */
  issuer?: string;
  /** The workflow, for people: for example `example/functions release.yml`. */
  workflow: string;
  /** Page of the run. */
  url?: string;
  commit?: string;
  ref?: string;
}

const MAX_CLAIM_LENGTH = 300;

/**
 * Compares verified claims with what a publisher wants. Returns all that differ; empty if the run may publish. Claims
 * that nobody asked for are ignored.
 */
export function checkClaims(publisher: TrustedPublisher, claims: Claims): ClaimProblem[] {
  const { settings, pins, rules } = provider(publisher.provider);
  const problems: ClaimProblem[] = [];
  for (const [name, setting] of Object.entries(settings)) {
    const expected = publisher.settings[name];
    if (expected === undefined) continue;
    const value = settingValue(setting, claims);
    if (value !== undefined && isSame(setting, expected, value)) continue;
    const found = claimText(claims, setting.claim);
    const without = value === undefined && found !== undefined ? setting.without : undefined;
    const why = isRenamed(publisher, setting, claims)
      ? `${pinMeaning(pins, setting)} has another name now`
      : without;
    problems.push({ ...claimProblem(setting.claim, expected, found), ...defined({ why }) });
  }
  const isNamed = hasRequired(publisher, claims);
  for (const [name, pin] of Object.entries(pins)) {
    const found = claimText(claims, pin.claim);
    const expected = publisher.pins[name];
    if (found === undefined)
      problems.push(claimProblem(pin.claim, expected ?? `the ID of ${pin.meaning}`, found));
    else if (expected !== undefined && expected !== found) {
      const why = isNamed ? 'has the same name, but is another one' : 'is another one now';
      problems.push({ ...claimProblem(pin.claim, expected, found), why: `${pin.meaning} ${why}` });
    }
  }
  const broken = rules
    .filter((rule) => isRuled(rule, publisher))
    .flatMap((rule) => brokenRule(rule, claims) ?? []);
  // Of a claim with several rules, the first reason is the most exact one.
  const first = broken.filter(({ claim }, at) => broken.findIndex((one) => one.claim === claim) === at);
  return [...problems, ...first];
}

function pinMeaning(
  pins: Readonly<Record<string, ProviderPin>>,
  { pin = '', meaning }: ProviderSetting,
): string {
  return pins[pin]?.meaning ?? meaning;
}

/** Whether all problems are with rules of the provider, so that no other publisher would accept the run. */
export function breaksOnlyRules(
  { provider: name }: TrustedPublisher,
  problems: readonly ClaimProblem[],
): boolean {
  const fixed = provider(name).rules.filter((rule) => !('unless' in rule));
  return problems.every(({ why }) => fixed.some((rule) => rule.why === why));
}

/** Whether a rule is for a publisher, which can name a value of its own. */
function isRuled(rule: ProviderRule, { settings }: TrustedPublisher): boolean {
  return !('unless' in rule && rule.unless !== undefined && settings[rule.unless] !== undefined);
}

/**
 * Reports whether claims are of the source that a publisher names, whatever else differs: only such a workflow is told
 * what the publisher wants. A repository has one owner; in a namespace or organization, only the account or pipeline has.
 * There can be thousands of publishers of an issuer, so this is compared first.
 */
export function namesSource(publisher: TrustedPublisher, claims: Claims): boolean {
  const { settings } = provider(publisher.provider);
  const [[name, first]] = Object.entries(settings) as [[string, ProviderSetting]];
  if (first.pin === undefined) return hasRequired(publisher, claims);
  return hasSetting(publisher, name, claims) || isRenamed(publisher, first, claims);
}

/** Returns the provider that probably signed claims, if no publisher says which. */
export function probableProvider(issuer: string, claims: Claims): CiProvider {
  const names = (name: CiProvider) => {
    const [source] = sourceSettings(name);
    return isIssuerOf(name, issuer) && settingValue(source!, claims) !== undefined;
  };
  // Others write no claim that has the name of a host, and any issuer can have the short names of another provider.
  const hasHost = (name: CiProvider) => claimName(sourceSettings(name)[0]!.claim).includes('.');
  const named = CI_PROVIDERS.filter(names);
  return named.find(hasHost) ?? named[0] ?? 'custom';
}

/** Whether claims have everything that names a workflow. */
function hasRequired(publisher: TrustedPublisher, claims: Claims): boolean {
  return Object.entries(provider(publisher.provider).settings).every(
    ([name, { isRequired }]) => !isRequired || hasSetting(publisher, name, claims),
  );
}

/** Whether claims have a setting as a publisher wants it. */
function hasSetting(publisher: TrustedPublisher, name: string, claims: Claims): boolean {
  const setting = provider(publisher.provider).settings[name];
  const expected = publisher.settings[name];
  const found = setting && settingValue(setting, claims);
  return expected !== undefined && found !== undefined && isSame(setting!, expected, found);
}

/** Whether claims have the pinned identifier of what a setting names. */
function isRenamed(
  { provider: name, pins }: TrustedPublisher,
  { pin = '' }: ProviderSetting,
  claims: Claims,
): boolean {
  const known: Readonly<Record<string, ProviderPin>> = provider(name).pins;
  const path = known[pin]?.claim;
  return path !== undefined && pins[pin] !== undefined && claimText(claims, path) === pins[pin];
}

/** Whether a publisher was not used in time: it matches nothing any more. */
export function isPublisherExpired(
  { pendingUntil }: { pendingUntil?: string | undefined },
  now: Date,
): boolean {
  return pendingUntil !== undefined && pendingUntil <= now.toISOString();
}

/** Returns what a publisher may publish, as `GROUP` or `GROUP/KIND`. */
export function publisherTarget({ group, kind }: { group: string; kind?: string | undefined }): string {
  return kind === undefined ? group : `${group}/${kind}`;
}

/** A problem, as stored or as a client reads it. */
type Described = { [Name in keyof ClaimProblem]: ClaimProblem[Name] | undefined };

/** Returns a problem as a part of a sentence. */
export function describeProblem({ claim, expected, found, why }: Described): string {
  const is = found === undefined ? 'is missing' : `is ${JSON.stringify(found)}`;
  return `${claim} ${is}, expected ${expected}${why === undefined ? '' : ` (${why})`}`;
}

/** Returns the pins of a publisher with those that it takes from its first token. */
export function pinned(publisher: TrustedPublisher, claims: Claims): Record<string, string> {
  const found = Object.entries(provider(publisher.provider).pins).map(([name, { claim }]) => [
    name,
    claimText(claims, claim),
  ]);
  return { ...defined(Object.fromEntries(found)), ...publisher.pins };
}

/** Describes the run of verified claims. */
export function describeRun(
  { provider: name, issuer }: Pick<TrustedPublisher, 'provider' | 'issuer'>,
  claims: Claims,
): WorkflowRun {
  const { run, issuer: usual } = provider(name);
  const parts = sourceSettings(name).map((setting) => settingValue(setting, claims));
  const at = (path: ClaimPath | undefined) => path && shortClaim(claimText(claims, path));
  return {
    provider: name,
    workflow: shortClaim(parts.filter((part) => part !== undefined).join(' ')) ?? '',
    ...defined({ issuer: issuer === usual ? undefined : issuer }),
    ...defined({ url: shortClaim(run.url?.(claims)), commit: at(run.commit), ref: at(run.ref) }),
  };
}

/** Options of `krmhub publisher add` that are shorter than `--set NAME=VALUE`. */
const OPTIONS: Readonly<Record<string, string>> = {
  repository: '--github',
  'gitlab project': '--gitlab',
  workflow: '--workflow',
};

/** What is the same for every shell. */
const PLAIN = /^[A-Za-z0-9][\w./:@-]{0,299}$/;

/**
 * Returns the command with which the owner of a group adds the workflow of verified claims, without its options if the
 * claims have anything that a shell could read in another way.
 */
export function addCommand(group: string, { issuer, claims }: { issuer: string; claims: Claims }): string {
  const command = `krmhub publisher add ${group}`;
  const name = probableProvider(issuer, claims);
  const { settings, issuer: usual } = provider(name);
  const named = Object.entries(settings).filter(([, { isRequired }]) => isRequired);
  const values = named.map(([setting, one]) => [setting, settingValue(one, claims) ?? ''] as const);
  if (![...values.map(([, value]) => value), issuer].every((value) => PLAIN.test(value))) return command;
  const options = values.map(([setting, value]) => {
    const option = OPTIONS[setting] ?? OPTIONS[`${name} ${setting}`];
    return option === undefined ? `--set ${setting}=${value}` : `${option} ${value}`;
  });
  if (name !== 'github' && name !== 'gitlab') options.unshift(`--provider ${name}`);
  if (issuer !== usual) options.push(`--issuer ${issuer}`);
  return [command, ...options].join(' ');
}

/** Returns a workflow with who signed its name: other issuers than the usual one can sign any. */
export function describeWorkflow({ provider: name, issuer, workflow }: WorkflowRun): string {
  return `${workflow} (${[provider(name).title, ...(issuer === undefined ? [] : [issuer])].join(', ')})`;
}

/** Returns the settings of a provider that a publisher must have: together they name a workflow. */
function sourceSettings(name: CiProvider): ProviderSetting[] {
  return Object.values(provider(name).settings).filter(({ isRequired }) => isRequired);
}

/** Returns what a token says about a setting: the claim, or the part of it that is compared. */
function settingValue({ claim, part }: ProviderSetting, claims: Claims): string | undefined {
  const value = claimText(claims, claim);
  return value !== undefined && part ? part(value, claims) : value;
}

function isSame({ ignoresCase, isPattern }: ProviderSetting, expected: string, found: string): boolean {
  if (isPattern) return matchesGlob(expected, found);
  // Folding keeps the length, and what came can be long.
  if (!ignoresCase || expected.length !== found.length) return expected === found;
  return foldAscii(expected) === foldAscii(found);
}

/** Letters such as the Kelvin sign have the small letter of another one: a job could name an environment of its own. */
function foldAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function brokenRule(rule: ProviderRule, claims: Claims): ClaimProblem | undefined {
  const found = claimText(claims, rule.claim);
  const { why } = rule;
  if ('refused' in rule) {
    if (found === undefined || !rule.refused.includes(found)) return undefined;
    return { ...claimProblem(rule.claim, `not ${rule.refused.join(' or ')}`, found), why };
  }
  if ('required' in rule) {
    if (found !== undefined && rule.required.includes(found)) return undefined;
    return { ...claimProblem(rule.claim, rule.required.join(' or '), found), why };
  }
  const same = claimText(claims, rule.same);
  if (found === undefined || found === same) return undefined;
  const expected = shortClaim(same) ?? `the same as ${claimName(rule.same)}`;
  return { ...claimProblem(rule.claim, expected, found), why };
}

/** Returns a claim that is not as it is wanted, with at most 300 printable characters of what came. */
export function claimProblem(path: ClaimPath, expected: string, found: string | undefined): ClaimProblem {
  return { claim: claimName(path), expected, ...defined({ found: shortClaim(found) }) };
}

/** Control characters, and those that reorder or hide text: claims are shown on terminals and in logs. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns at most 300 printable characters of what a token says. */
export function shortClaim<Value extends string | undefined>(value: Value): Value;
export function shortClaim(value: string | undefined): string | undefined {
  const text = value?.slice(0, MAX_CLAIM_LENGTH + 1).replace(UNPRINTABLE, '?');
  return text === undefined || text.length <= MAX_CLAIM_LENGTH ? text : `${text.slice(0, MAX_CLAIM_LENGTH)}…`;
}
