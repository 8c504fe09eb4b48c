import { readFileSync } from 'node:fs';
import path from 'node:path';
import { hasErrors } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { parseUrl } from '@krmhub/schema/parse-url';
import { suggest } from '@krmhub/schema/suggest';
import { readYaml } from '@krmhub/yaml';

/** An identity provider with which people sign in. */
export interface ProviderSettings {
  /** In paths. */
  id: string;
  /** On the button. */
  name: string;
  /** As its configuration names it, to the letter: the key of a user begins with it. */
  issuer: string;
  clientId: string;
  /** Never logged. */
  clientSecret: string;
  /** Absent: `openid profile email`, and `offline_access` if the provider lists it. */
  scopes?: readonly string[];
  /** Claim with the groups of a user. */
  groupsClaim: string;
  /** Claim that identifies a user. */
  subjectClaim: string;
}

/** The fields of a provider: the end of the name of its setting, and its name in a file of several providers. */
export const PROVIDER_FIELDS = [
  'issuer',
  'clientId',
  'clientSecret',
  'clientSecretFile',
  'scopes',
  'groupsClaim',
  'subjectClaim',
  'name',
] as const;
type Field = (typeof PROVIDER_FIELDS)[number];

/** A value, and its name in messages. */
export interface GivenValue {
  value: string;
  from: string;
}

export type GivenFields = Partial<Record<Field, GivenValue>>;

const MAX_FILE_BYTES = 65_536;
const MAX_PROVIDERS = 20;
/** Characters on a button. */
const MAX_NAME_LENGTH = 40;
const MAX_VALUE_LENGTH = 1_000;
const TEXT = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u;

/** Reads the providers from the settings of one, or from a file of several. Lists every problem. */
export function readProviders(
  single: GivenFields,
  file: GivenValue | undefined,
): { providers: ProviderSettings[]; problems: string[] } {
  const problems: string[] = [];
  const one = Object.values(single)[0];
  if (file !== undefined && one !== undefined) {
    problems.push(`${one.from}: ${file.from} is set too: move this provider to that file`);
  }
  const given = file === undefined ? (one === undefined ? [] : [single]) : readFields(file, problems);
  const providers = given.flatMap((fields, index) => {
    const where = file === undefined ? 'KRMHUB_OIDC_' : `${file.value}: provider ${index + 1}: `;
    return readProvider(fields, where, problems) ?? [];
  });
  for (const field of ['issuer', 'name', 'id'] as const) {
    const twice = providers.find(
      (provider, index) => providers.findIndex((other) => other[field] === provider[field]) < index,
    );
    if (twice !== undefined && problems.length === 0) {
      problems.push(
        `${file?.value}: two providers have the ${field === 'issuer' ? 'issuer' : 'name'} "${twice[field]}"`,
      );
    }
  }
  return { providers, problems };
}

function readFields({ value: name, from }: GivenValue, problems: string[]): GivenFields[] {
  const text = readText(name, from, problems);
  if (text === undefined) return [];
  const { documents, diagnostics } = readYaml(Buffer.from(text), { file: name });
  if (hasErrors(diagnostics)) {
    for (const { range, message } of diagnostics) {
      problems.push(
        `${name}${range === undefined ? '' : `:${range.start.line}:${range.start.column}`}: ${message}`,
      );
    }
    return [];
  }
  const [document] = documents;
  const list: unknown = document?.value;
  if (document === undefined || documents.length > 1 || !Array.isArray(list) || list.length === 0) {
    problems.push(`${name}: expected a list of providers, each with issuer, clientId, and clientSecret`);
    return [];
  }
  if (list.length > MAX_PROVIDERS) problems.push(`${name}: more than ${MAX_PROVIDERS} providers`);
  return list.slice(0, MAX_PROVIDERS).map((item: unknown, index) => {
    const at = (field?: string) => {
      const start = document.locate(field === undefined ? [index] : [index, field], 'value')?.start;
      return start === undefined ? name : `${name}:${start.line}:${start.column}`;
    };
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      problems.push(`${at()}: expected a mapping with issuer, clientId, and clientSecret`);
      return {};
    }
    const fields: GivenFields = {};
    for (const [field, value] of Object.entries(item)) {
      const isList =
        field === 'scopes' && Array.isArray(value) && value.every((scope) => typeof scope === 'string');
      if (!isField(field)) {
        const meant = suggest(field, PROVIDER_FIELDS);
        const known = meant === undefined ? `use ${PROVIDER_FIELDS.join(', ')}` : `did you mean ${meant}?`;
        problems.push(`${at(field)}: unknown field "${field}"; ${known}`);
      } else if (isList) fields[field] = { value: value.join(' '), from: `${at(field)}: ${field}` };
      else if (typeof value === 'string') fields[field] = { value, from: `${at(field)}: ${field}` };
      else problems.push(`${at(field)}: ${field}: not a string`);
    }
    return fields;
  });
}

function isField(name: string): name is Field {
  return (PROVIDER_FIELDS as readonly string[]).includes(name);
}

/** `where` is the beginning of messages about what is missing. */
function readProvider(given: GivenFields, where: string, problems: string[]): ProviderSettings | undefined {
  const before = problems.length;
  const missing = (field: Field, why: string) => {
    const name = where.endsWith('_') ? where + environmentName(field) : where + field;
    problems.push(`${name}: ${why}`);
  };
  const check = (field: Field, isValid: (value: string) => boolean, expected: string): string | undefined => {
    const one = given[field];
    if (one === undefined) return undefined;
    const isText = TEXT.test(one.value) && one.value.length <= MAX_VALUE_LENGTH;
    if (!isText || !isValid(one.value)) problems.push(`${one.from}: ${shown(field, one.value)}${expected}`);
    return one.value;
  };
  const issuer = check(
    'issuer',
    (value) => issuerProblem(value) === undefined,
    issuerProblem(given.issuer?.value ?? '') ?? 'is not a URL',
  );
  if (issuer === undefined) missing('issuer', 'is not set: the URL that the provider calls its issuer');
  const clientId = check('clientId', () => true, 'is not the ID of a client');
  if (clientId === undefined)
    missing('clientId', 'is not set: the ID that the provider gave to this registry');
  const { clientSecret: inline, clientSecretFile: inFile } = given;
  if (inline !== undefined && inFile !== undefined) {
    problems.push(`${inFile.from}: the secret itself is set too: use one of them`);
  } else if (inline === undefined && inFile === undefined) {
    missing('clientSecret', 'is not set: the secret of the client, or the file with it');
  }
  const secret =
    inline ?? (inFile && { ...inFile, value: readText(inFile.value, inFile.from, problems)?.trim() ?? '' });
  if (secret !== undefined && problems.length === before && !/^[\x20-\x7e]{1,1000}$/.test(secret.value)) {
    problems.push(`${secret.from}: it is empty, or has characters other than those of ASCII`);
  }
  const scopes = check(
    'scopes',
    (value) => splitScopes(value).includes('openid') && splitScopes(value).every(isScope),
    'does not include the scope openid, or has a character that scopes cannot have',
  );
  const claim = 'is not the name of a claim';
  const groupsClaim = check('groupsClaim', () => true, claim) ?? 'groups';
  const subjectClaim = check('subjectClaim', () => true, claim) ?? 'sub';
  const name = check(
    'name',
    (value) => value.length <= MAX_NAME_LENGTH && slug(value) !== '',
    `is not a name of at most ${MAX_NAME_LENGTH} characters with a letter or a digit`,
  );
  if (problems.length > before) return undefined;
  const shownName = name ?? new URL(issuer!).hostname.slice(0, MAX_NAME_LENGTH);
  return {
    id: slug(shownName),
    name: shownName,
    issuer: issuer!,
    clientId: clientId!,
    clientSecret: secret!.value,
    groupsClaim,
    subjectClaim,
    ...defined({ scopes: scopes === undefined ? undefined : splitScopes(scopes) }),
  };
}

/** Returns why a URL is no issuer, as the end of a message. */
function issuerProblem(text: string): string | undefined {
  const url = parseUrl(text);
  if (url === undefined || url.username + url.password + url.search + url.hash !== '') {
    return 'is not a URL without user, query, and fragment';
  }
  if (url.pathname.includes('/.well-known/')) {
    return `is the address of its configuration: use ${url.origin}${url.pathname.replace(/\/\.well-known\/.*/, '')}`;
  }
  if (url.protocol === 'https:') return undefined;
  if (url.protocol === 'http:' && isLoopback(url.hostname)) return undefined;
  return 'is not an https URL; http is only for a provider on this machine';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

const splitScopes = (text: string) => text.split(/[\s,]+/).filter((scope) => scope !== '');

/** RFC 6749, section 3.3. */
const isScope = (scope: string) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope);

/** Returns a name for paths. */
function slug(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}

/** Returns a value for messages, in which no secret is. */
function shown(field: Field, value: string): string {
  return field === 'clientSecret' ? '' : `${JSON.stringify(value.slice(0, 200))} `;
}

/** `clientId` is CLIENT_ID. */
function environmentName(field: Field): string {
  return field.replace(/[A-Z]/g, '_$&').toUpperCase();
}

function readText(name: string, from: string, problems: string[]): string | undefined {
  try {
    const text = readFileSync(path.resolve(name), 'utf8');
    if (text.length <= MAX_FILE_BYTES) return text;
    problems.push(`${from}: ${name} exceeds ${MAX_FILE_BYTES} bytes`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    problems.push(`${from}: cannot read ${name}: ${code === 'ENOENT' ? 'no such file' : code}`);
  }
  return undefined;
}
