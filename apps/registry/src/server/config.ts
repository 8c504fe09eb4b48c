import { isIP } from 'node:net';
import { type FunctionName, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isGroup, isKind } from '@krmhub/schema/gvk';
import { suggest } from '@krmhub/schema/suggest';
import { invalidRanges } from '@krmhub/sources';
import { readTrustedProxies } from '../http/client-address.js';
import { canonicalPublicUrl, publicUrlProblem } from '../http/public-address.js';
import { LOG_LEVELS, type LogLevel } from '../log.js';
import {
  type GivenFields,
  type GivenValue,
  type ProviderSettings,
  readProviders,
} from '../sign-in/provider-settings.js';
import { parseS3Url, type S3Access, type S3Place } from '../store/blobs/s3/place.js';
import { isPostgresUrl } from '../store/postgres/url.js';
import { type ConfigOverrides, SETTINGS, type Setting, type SettingName } from './settings.js';

export interface Config {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Folder of all stored data. */
  dataFolder: string;
  /** Folder of the keys that sign snapshots; absent if it is in the data folder. */
  keysFolder?: string;
  /** URL of PostgreSQL, which may have a password: never logged. Absent if the database is in the data folder. */
  databaseUrl?: string;
  /** S3-compatible store of the blobs; absent if they are in the data folder. */
  blobPlace?: S3Place;
  /** From the variables of the AWS tools; absent if none is set. Never logged. */
  s3Credentials?: S3Access;
  /** Size of the local cache of that store. */
  blobCacheBytes: number;
  /** Whether clients get presigned URLs of that store. */
  blobRedirect: boolean;
  /** Where clients reach the registry, without a slash at the end. */
  publicUrl?: string;
  /** Functions on the first page. */
  highlights: readonly FunctionName[];
  /** Addresses and CIDR ranges. */
  trustedProxies: readonly string[];
  /** Addresses and CIDR ranges whose clients see what is internal. */
  internalAddresses: readonly string[];
  /** For each client address, where a response needs computation; 0 for no limit. */
  requestsPerMinute: number;
  /** For each token; 0 for no limit. */
  writesPerMinute: number;
  /** For each client address; 0 for no limit. */
  failedLoginsPerMinute: number;
  /** For the blobs and manifests of one repository; 0 for no limit. */
  repositoryMebibytes: number;
  /** Age at which untagged manifests are deleted; 0 for never. */
  untaggedDays: number;
  /** File with the trusted root of a sigstore instance; absent for the public one. */
  trustedRoot?: string;
  /** Validity of a snapshot signature. */
  snapshotValidDays: number;
  /** How long a deleted catalog can be restored. */
  catalogRestoreDays: number;
  /** How long rows of the audit log are stored; 0 for no limit. */
  auditDays: number;
  /** Longest time until a new token expires. */
  maxTokenDays: number;
  maxUsers: number;
  /** How long tokens of a user work whose provider cannot be asked again; 0 for an hour. */
  oidcConfirmDays: number;
  /** How long a registry that stops serves requests, while it is not ready. */
  shutdownDelaySeconds: number;
  /** Addresses and CIDR ranges, beyond public ones, from which recipes may fetch catalogs. */
  sourceAddresses: readonly string[];
  /** Name servers that are asked for the proofs of owners; absent for those of the system. */
  dnsServers?: readonly string[];
  /** Folder of `file:` sources; absent if they are refused. */
  sourceFolder?: string;
  /** File with the credentials for sources; absent for none. */
  sourceCredentials?: string;
  /** URIs to which people report security problems. */
  securityContacts: readonly string[];
  /** Folder of the executables that users can download; absent for the one of the program. */
  executablesFolder?: string;
  /** Identity providers of users; empty if all sign in with tokens. */
  signIn: readonly ProviderSettings[];
  logLevel: LogLevel;
}

/** Each is a search when the first page is read. */
const MAX_HIGHLIGHTS = 12;
const PREFIX = 'KRMHUB_';
/** Names the configuration file, whose keys are the names in SETTINGS. */
export const CONFIG_VARIABLE = 'KRMHUB_CONFIG';
/** Variables with our prefix that belong to the command line. */
const CLIENT_VARIABLES = [
  'KRMHUB_REGISTRY',
  'KRMHUB_TOKEN',
  'KRMHUB_KEY_PASSWORD',
  'KRMHUB_TRUSTED_ROOT',
  'KRMHUB_TRUST',
  'KRMHUB_TOKEN_SERVICES',
  'KRMHUB_CACHE',
  'KRMHUB_FULCIO_URL',
  'KRMHUB_REKOR_URL',
  'KRMHUB_TIMESTAMP_URL',
];

/** The values of a configuration file, each with its position. */
export interface ConfigFile {
  values: ReadonlyMap<SettingName, { value: string; from: string }>;
  problems: readonly string[];
}

/**
 * Reads the configuration. Command line options override the environment, which overrides the file.
 * Throws a `usage` KrmhubError that lists every problem, including unknown `KRMHUB_` variables.
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  overrides: ConfigOverrides = {},
  file: ConfigFile = { values: new Map(), problems: [] },
): Config {
  const problems: string[] = [...file.problems, ...unknownVariables(env)];
  const given = (name: SettingName): { value: string; from: string } | undefined => {
    const setting: Setting = SETTINGS[name];
    const override = overrides[name];
    if (override !== undefined) return { value: override, from: setting.flag ?? setting.name };
    const value = env[setting.name];
    // Shells and compose files write an unset variable as an empty one.
    return value === undefined || value === '' ? file.values.get(name) : { value, from: setting.name };
  };
  const text = (name: SettingName) =>
    given(name) ?? { value: SETTINGS[name].default, from: SETTINGS[name].name };
  const count = (
    name:
      | 'requestsPerMinute'
      | 'writesPerMinute'
      | 'failedLoginsPerMinute'
      | 'repositoryMebibytes'
      | 'untaggedDays'
      | 'auditDays'
      | 'maxUsers'
      | 'blobCacheMebibytes',
  ): number => {
    const { value, from } = text(name);
    if (!/^\d{1,7}$/.test(value)) problems.push(`${from}: "${value}" is not a number from 0 to 9999999`);
    return Number(value);
  };

  const host = text('host');
  if (!/^[A-Za-z0-9.:%_-]+$/.test(host.value)) {
    problems.push(`${host.from}: "${host.value}" is not an address or a host name`);
  }
  const port = text('port');
  if (!/^\d{1,5}$/.test(port.value) || Number(port.value) > 65_535) {
    problems.push(`${port.from}: "${port.value}" is not a port: use a number from 0 to 65535`);
  }
  const data = text('data');
  if (data.value === '' || data.value.includes('\0')) {
    problems.push(`${data.from}: "${data.value}" is not a folder name`);
  }
  const keys = given('keys');
  if (keys?.value.includes('\0')) problems.push(`${keys.from}: "${keys.value}" is not a folder name`);
  const logLevel = text('logLevel');
  if (!isLogLevel(logLevel.value)) {
    problems.push(`${logLevel.from}: "${logLevel.value}" is not one of ${LOG_LEVELS.join(', ')}`);
  }
  const databaseUrl = given('databaseUrl');
  if (databaseUrl !== undefined && !isPostgresUrl(databaseUrl.value)) {
    // It may have a password.
    problems.push(`${databaseUrl.from}: not a URL as postgres://USER@HOST:5432/DATABASE`);
  }
  const s3Credentials = s3AccessOf(env);
  const blobUrl = given('blobUrl');
  let blobPlace: S3Place | undefined;
  try {
    blobPlace = blobUrl && parseS3Url(blobUrl.value, env.AWS_REGION || env.AWS_DEFAULT_REGION || undefined);
  } catch (error) {
    problems.push(`${blobUrl?.from}: "${blobUrl?.value}" ${(error as Error).message}`);
  }
  const redirect = text('blobRedirect');
  if (redirect.value !== 'true' && redirect.value !== 'false') {
    problems.push(`${redirect.from}: "${redirect.value}" is not true or false`);
  }
  const publicUrl = given('publicUrl');
  const wrongUrl = publicUrl === undefined ? undefined : publicUrlProblem(publicUrl.value);
  if (publicUrl !== undefined && wrongUrl !== undefined) {
    problems.push(`${publicUrl.from}: "${publicUrl.value}" ${wrongUrl}`);
  }
  const trustedRoot = given('trustedRoot');
  const list = (
    name:
      | 'trustedProxies'
      | 'internalAddresses'
      | 'sourceAddresses'
      | 'dnsServers'
      | 'highlights'
      | 'securityContact',
    expected: string,
    wrongIn: (entries: readonly string[]) => readonly string[],
  ): string[] => {
    const setting = given(name);
    const entries = (setting?.value ?? '')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
    const wrong = wrongIn(entries);
    if (setting !== undefined && wrong.length > 0) {
      const named = wrong.map((entry) => JSON.stringify(entry)).join(', ');
      problems.push(`${setting.from}: ${named}: ${expected}`);
    }
    return entries;
  };
  const range = 'not an address or a CIDR range such as 10.0.0.0/8';
  const trustedProxies = list('trustedProxies', range, (entries) => readTrustedProxies(entries).problems);
  const internalAddresses = list(
    'internalAddresses',
    range,
    (entries) => readTrustedProxies(entries).problems,
  );
  const sourceAddresses = list('sourceAddresses', range, invalidRanges);
  const dnsServers = list('dnsServers', 'not an IP address, with or without a port', (entries) =>
    entries.filter((entry) => !isNameServer(entry)),
  );
  const highlights = list('highlights', 'not a function such as example.com/SetLabels', (entries) =>
    entries.filter((entry) => functionName(entry) === undefined),
  ).flatMap((entry) => functionName(entry) ?? []);
  if (highlights.length > MAX_HIGHLIGHTS) {
    problems.push(`${SETTINGS.highlights.name}: more than ${MAX_HIGHLIGHTS} functions`);
  }
  const securityContacts = list(
    'securityContact',
    'not a URI such as mailto:security@example.com',
    (entries) => entries.filter((uri) => !/^(?:mailto:[^\s@]+@|https:\/\/|tel:\+)[^\s@]+$/.test(uri)),
  );
  const signIn = readProviders(providerFields(given), given('oidcFile'));
  problems.push(...signIn.problems);
  const [provider = given('oidcFile')] = Object.values(providerFields(given));
  if (provider !== undefined && publicUrl === undefined) {
    problems.push(`${provider.from}: set KRMHUB_PUBLIC_URL too: the provider sends browsers back to it`);
  }
  const sourceFolder = given('sourceFolder');
  const sourceCredentials = given('sourceCredentials');
  const days = (
    name: 'snapshotValidDays' | 'catalogRestoreDays' | 'maxTokenDays' | 'oidcConfirmDays',
    least: number,
  ): number => {
    const { value, from } = text(name);
    if (!/^\d{1,4}$/.test(value) || !isBetween(Number(value), least, 3_650)) {
      problems.push(`${from}: "${value}" is not a number of days from ${least} to 3650`);
    }
    return Number(value);
  };
  const periods = {
    snapshotValidDays: days('snapshotValidDays', 1),
    catalogRestoreDays: days('catalogRestoreDays', 0),
    maxTokenDays: days('maxTokenDays', 1),
    oidcConfirmDays: days('oidcConfirmDays', 0),
  };
  const shutdownDelay = text('shutdownDelaySeconds');
  if (!/^\d{1,3}$/.test(shutdownDelay.value) || !isBetween(Number(shutdownDelay.value), 0, 300)) {
    problems.push(`${shutdownDelay.from}: "${shutdownDelay.value}" is not a number of seconds from 0 to 300`);
  }
  const limits = {
    requestsPerMinute: count('requestsPerMinute'),
    writesPerMinute: count('writesPerMinute'),
    failedLoginsPerMinute: count('failedLoginsPerMinute'),
    repositoryMebibytes: count('repositoryMebibytes'),
    untaggedDays: count('untaggedDays'),
    auditDays: count('auditDays'),
    maxUsers: count('maxUsers'),
    blobCacheBytes: count('blobCacheMebibytes') * 1_048_576,
  };
  if (problems.length > 0 || !isLogLevel(logLevel.value)) {
    throw new KrmhubError('usage', `invalid configuration:\n  ${problems.join('\n  ')}`, {
      hint: 'All settings and their values: krmhub docs configuration',
    });
  }
  return {
    host: host.value,
    port: Number(port.value),
    dataFolder: data.value,
    logLevel: logLevel.value,
    highlights,
    trustedProxies,
    internalAddresses,
    sourceAddresses,
    securityContacts,
    signIn: signIn.providers,
    ...periods,
    shutdownDelaySeconds: Number(shutdownDelay.value),
    ...limits,
    blobRedirect: redirect.value === 'true',
    ...defined({
      dnsServers: dnsServers.length === 0 ? undefined : dnsServers,
      keysFolder: keys?.value,
      databaseUrl: databaseUrl?.value,
      blobPlace,
      s3Credentials,
      trustedRoot: trustedRoot?.value,
      sourceFolder: sourceFolder?.value,
      sourceCredentials: sourceCredentials?.value,
      executablesFolder: given('executables')?.value,
      publicUrl: publicUrl === undefined ? undefined : canonicalPublicUrl(publicUrl.value),
    }),
  };
}

/** Returns the settings of one provider. */
function providerFields(given: (name: SettingName) => GivenValue | undefined): GivenFields {
  return defined({
    issuer: given('oidcIssuer'),
    clientId: given('oidcClientId'),
    clientSecret: given('oidcClientSecret'),
    clientSecretFile: given('oidcClientSecretFile'),
    scopes: given('oidcScopes'),
    groupsClaim: given('oidcGroupsClaim'),
    subjectClaim: given('oidcSubjectClaim'),
    name: given('oidcName'),
  });
}

function functionName(text: string): FunctionName | undefined {
  const [group = '', kind = '', ...rest] = text.split('/');
  return isGroup(group) && isKind(kind) && rest.length === 0 ? { group, kind } : undefined;
}

/** The variables of the AWS tools. Keys among them are first. */
function s3AccessOf(env: Readonly<Record<string, string | undefined>>): S3Access | undefined {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  const { AWS_SESSION_TOKEN: sessionToken } = env;
  if (accessKeyId && secretAccessKey)
    return { accessKeyId, secretAccessKey, ...defined({ sessionToken: sessionToken || undefined }) };
  const given = Object.entries(env).filter(
    (one): one is [string, string] => /^AWS_/.test(one[0]) && one[1] !== undefined && one[1] !== '',
  );
  if (given.length === 0) return undefined;
  return { env: Object.fromEntries([...given, ...(env.HOME ? [['HOME', env.HOME] as const] : [])]) };
}

function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known: string[] = [
    ...Object.values(SETTINGS).map(({ name }) => name),
    CONFIG_VARIABLE,
    ...CLIENT_VARIABLES,
  ];
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .sort()
    .map((name) => {
      // Compare without the prefix, which would make all names similar.
      const meant = suggest(
        name.slice(PREFIX.length),
        known.map((one) => one.slice(PREFIX.length)),
      );
      return `${name}: unknown setting${meant === undefined ? '' : `; did you mean ${PREFIX}${meant}?`}`;
    });
}

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

function isLogLevel(text: string): text is LogLevel {
  return (LOG_LEVELS as readonly string[]).includes(text);
}

/** An IPv4 address, or an IPv6 one that has brackets before a port. */
function isNameServer(text: string): boolean {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+)(?::\d{1,5})?)$/.exec(text) ?? [];
  return isIP(bracketed ?? plain ?? text) !== 0;
}
