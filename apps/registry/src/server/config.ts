import { KrmhubError } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/lint/suggest';
import { invalidRanges } from '@krmhub/sources';
import { readTrustedProxies } from '../http/client-address.js';
import { canonicalPublicUrl, publicUrlProblem } from '../http/public-address.js';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Config {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Folder of everything that is kept. */
  dataFolder: string;
  /** Where clients reach the registry, without a slash at the end. */
  publicUrl?: string;
  /** Addresses and CIDR ranges. */
  trustedProxies: readonly string[];
  /** Of each address, where answers cost work; 0 for any number. */
  requestsPerMinute: number;
  /** Of each token; 0 for any number. */
  writesPerMinute: number;
  /** Of each address; 0 for any number. */
  failedLoginsPerMinute: number;
  /** Of the blobs and manifests of one repository; 0 for any number. */
  repositoryMebibytes: number;
  /** After which manifests without a tag are deleted; 0 for never. */
  untaggedDays: number;
  /** File with the trusted root of a sigstore instance; absent for the public one. */
  trustedRoot?: string;
  /** For which the signature of a snapshot says that it is the newest. */
  snapshotValidDays: number;
  /** Addresses and CIDR ranges, beside the public ones, from which recipes may take catalogs. */
  sourceAddresses: readonly string[];
  /** Folder below which `file:` sources are read; absent where there are none. */
  sourceFolder?: string;
  /** File with the credentials for sources; absent for none. */
  sourceCredentials?: string;
  logLevel: LogLevel;
}

export interface Setting {
  name: `KRMHUB_${string}`;
  /** As the command line has it. */
  flag?: string;
  unit: string;
  default: string;
  why: string;
}

/** Every setting of the server; docs/configuration.md is made from it. */
export const SETTINGS = {
  host: {
    name: 'KRMHUB_HOST',
    flag: '--host',
    unit: 'address or host name',
    default: '127.0.0.1',
    why: 'The address to listen on. By default only this machine reaches the registry; `0.0.0.0` opens it to every network, best behind a proxy with TLS.',
  },
  port: {
    name: 'KRMHUB_PORT',
    flag: '--port',
    unit: 'TCP port, 0 to 65535',
    default: '8080',
    why: 'The port to listen on; 0 takes any free one.',
  },
  data: {
    name: 'KRMHUB_DATA',
    flag: '--data',
    unit: 'folder',
    default: './data',
    why: 'Where database, blobs and the first admin token are kept. It is made, readable for its owner only, where it is not there.',
  },
  publicUrl: {
    name: 'KRMHUB_PUBLIC_URL',
    unit: 'http or https URL',
    default: 'the address that is listened on',
    why: "Where clients reach the registry when a proxy stands before it. Links, `Location`, the OpenAPI document and the realm of tokens name it; its path may be taken off by the proxy or not; with https, browsers are told to keep to https. Forms of the operators' pages are taken from there alone.",
  },
  trustedProxies: {
    name: 'KRMHUB_TRUSTED_PROXIES',
    unit: 'addresses and CIDR ranges, with commas between',
    default: 'none',
    why: 'The proxies before the registry. Their `X-Forwarded-For` is believed: the rightmost address in it that is no trusted proxy is the client, for limits and the log. Nobody else is believed.',
  },
  requestsPerMinute: {
    name: 'KRMHUB_REQUESTS_PER_MINUTE',
    unit: 'requests of one client address in a minute, 0 for no limit',
    default: '3000',
    why: 'For searches, details and histories, whose answers are made anew. Newest catalogs, definitions and READMEs are stored bytes and not counted, nor are health, readiness and metrics. An IPv6 address counts with its /64. The whole quota may be used at once; each process counts for itself.',
  },
  writesPerMinute: {
    name: 'KRMHUB_WRITES_PER_MINUTE',
    unit: 'requests with one token in a minute, 0 for no limit',
    default: '3000',
    why: 'For everything that changes something, dry runs too: a script that runs wild leaves room for others, and 1,000 functions are published without waiting.',
  },
  failedLoginsPerMinute: {
    name: 'KRMHUB_FAILED_LOGINS_PER_MINUTE',
    unit: 'refused tokens of one client address in a minute, 0 for no limit',
    default: '60',
    why: 'After so many, tokens from there are refused unseen, but for those that were good before.',
  },
  repositoryMebibytes: {
    name: 'KRMHUB_REPOSITORY_MEBIBYTES',
    unit: 'mebibytes of one repository of artifacts, 0 for no limit',
    default: '0',
    why: 'What its blobs and manifests may have together, uploads on their way included. A push that would exceed it is refused, and nothing of it is kept. What the registry makes of releases and snapshots is not held to it.',
  },
  untaggedDays: {
    name: 'KRMHUB_UNTAGGED_DAYS',
    unit: 'days after its push, 0 for never',
    default: '0',
    why: 'When a manifest is deleted that no tag names, nor an index that is kept, and whose subject is not kept either: where tags such as `latest` move often, what they left takes room. Somebody may still name such a manifest by its digest, so that nothing is deleted by default. Releases and snapshots always stay.',
  },
  trustedRoot: {
    name: 'KRMHUB_TRUSTED_ROOT',
    unit: 'file',
    default: 'the public sigstore instance, as this program ships its root',
    why: 'The `trusted_root.json` of the sigstore instance whose certificates, logs and timestamps are believed, for signatures without a key. It is read at the start; nothing is ever fetched.',
  },
  snapshotValidDays: {
    name: 'KRMHUB_SNAPSHOT_VALID_DAYS',
    unit: 'days, 1 to 3650',
    default: '30',
    why: 'How long the signature of a snapshot says that the snapshot is the newest of its catalog. It is renewed when half of that is over. A copy that somebody holds back is refused after so many days by who verifies it; a registry that stands still for longer is refused too.',
  },
  sourceAddresses: {
    name: 'KRMHUB_SOURCE_ADDRESSES',
    unit: 'addresses and CIDR ranges, with commas between',
    default: 'none',
    why: 'Beside public addresses, those from which recipes may take catalogs. Everything else is refused, such as this machine, private networks and the metadata of clouds, whatever a name resolves to: who may apply recipes does not get to see them.',
  },
  sourceFolder: {
    name: 'KRMHUB_SOURCE_FOLDER',
    unit: 'folder',
    default: 'none, and `file:` sources are refused',
    why: 'Where the catalogs are that recipes take from by `file:` addresses. Nothing outside of it is read.',
  },
  sourceCredentials: {
    name: 'KRMHUB_SOURCE_CREDENTIALS',
    unit: 'file',
    default: 'none',
    why: 'Credentials for the catalogs that recipes take from, as JSON by origin: `{"https://host": {"token": "…"}}` or `{"username": "…", "password": "…"}`. They are sent to that origin alone. The file is read whenever one is needed; only its owner may be able to read it.',
  },
  logLevel: {
    name: 'KRMHUB_LOG_LEVEL',
    unit: LOG_LEVELS.join(', '),
    default: 'info',
    why: 'The least severe log lines that are written; lines are JSON and go to stdout.',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
export type ConfigOverrides = Partial<Record<SettingName, string>>;

const PREFIX = 'KRMHUB_';
/** Names the configuration file, in which settings stand under their names in SETTINGS. */
export const CONFIG_VARIABLE = 'KRMHUB_CONFIG';
/** Variables with our prefix that belong to the command line. */
const CLIENT_VARIABLES = [
  'KRMHUB_REGISTRY',
  'KRMHUB_TOKEN',
  'KRMHUB_KEY_PASSWORD',
  'KRMHUB_TRUSTED_ROOT',
  'KRMHUB_FULCIO_URL',
  'KRMHUB_REKOR_URL',
  'KRMHUB_TIMESTAMP_URL',
];

/** What a configuration file says, each value with its place. */
export interface ConfigFile {
  values: ReadonlyMap<SettingName, { value: string; from: string }>;
  problems: readonly string[];
}

/**
 * Reads the configuration; overrides (from the command line) win over the environment, and that over the file.
 * Throws a `usage` KrmhubError that names every problem, unknown `KRMHUB_` variables too.
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
    // An empty variable is how shells and compose files say "not set".
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
      | 'untaggedDays',
  ): number => {
    const { value, from } = text(name);
    if (!/^\d{1,7}$/.test(value)) problems.push(`${from}: "${value}" is no number from 0 to 9999999`);
    return Number(value);
  };

  const host = text('host');
  if (!/^[A-Za-z0-9.:%_-]+$/.test(host.value)) {
    problems.push(`${host.from}: "${host.value}" is no address or host name`);
  }
  const port = text('port');
  if (!/^\d{1,5}$/.test(port.value) || Number(port.value) > 65_535) {
    problems.push(`${port.from}: "${port.value}" is no port: a number from 0 to 65535`);
  }
  const data = text('data');
  if (data.value === '' || data.value.includes('\0')) {
    problems.push(`${data.from}: "${data.value}" is no name of a folder`);
  }
  const logLevel = text('logLevel');
  if (!isLogLevel(logLevel.value)) {
    problems.push(`${logLevel.from}: "${logLevel.value}" is none of ${LOG_LEVELS.join(', ')}`);
  }
  const publicUrl = given('publicUrl');
  const wrongUrl = publicUrl === undefined ? undefined : publicUrlProblem(publicUrl.value);
  if (publicUrl !== undefined && wrongUrl !== undefined) {
    problems.push(`${publicUrl.from}: "${publicUrl.value}" ${wrongUrl}`);
  }
  const trustedRoot = given('trustedRoot');
  const ranges = (
    name: 'trustedProxies' | 'sourceAddresses',
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
      problems.push(`${setting.from}: ${named}: no address and no CIDR range such as 10.0.0.0/8`);
    }
    return entries;
  };
  const trustedProxies = ranges('trustedProxies', (entries) => readTrustedProxies(entries).problems);
  const sourceAddresses = ranges('sourceAddresses', invalidRanges);
  const sourceFolder = given('sourceFolder');
  const sourceCredentials = given('sourceCredentials');
  const validDays = text('snapshotValidDays');
  if (!/^\d{1,4}$/.test(validDays.value) || !isBetween(Number(validDays.value), 1, 3_650)) {
    problems.push(`${validDays.from}: "${validDays.value}" is no number of days from 1 to 3650`);
  }
  const limits = {
    requestsPerMinute: count('requestsPerMinute'),
    writesPerMinute: count('writesPerMinute'),
    failedLoginsPerMinute: count('failedLoginsPerMinute'),
    repositoryMebibytes: count('repositoryMebibytes'),
    untaggedDays: count('untaggedDays'),
  };
  if (problems.length > 0 || !isLogLevel(logLevel.value)) {
    throw new KrmhubError('usage', `The configuration has problems:\n  ${problems.join('\n  ')}`, {
      hint: `Settings are ${Object.values(SETTINGS)
        .map(({ name }) => name)
        .join(', ')}.`,
    });
  }
  return {
    host: host.value,
    port: Number(port.value),
    dataFolder: data.value,
    logLevel: logLevel.value,
    trustedProxies,
    sourceAddresses,
    snapshotValidDays: Number(validDays.value),
    ...limits,
    ...(trustedRoot === undefined ? {} : { trustedRoot: trustedRoot.value }),
    ...(sourceFolder === undefined ? {} : { sourceFolder: sourceFolder.value }),
    ...(sourceCredentials === undefined ? {} : { sourceCredentials: sourceCredentials.value }),
    ...(publicUrl === undefined ? {} : { publicUrl: canonicalPublicUrl(publicUrl.value) }),
  };
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
      // Without the prefix: every name is near to every other with it.
      const meant = suggest(
        name.slice(PREFIX.length),
        known.map((one) => one.slice(PREFIX.length)),
      );
      return `${name}: there is no such setting${meant === undefined ? '' : `; did you mean ${PREFIX}${meant}?`}`;
    });
}

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

function isLogLevel(text: string): text is LogLevel {
  return (LOG_LEVELS as readonly string[]).includes(text);
}
