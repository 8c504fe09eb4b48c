import { KrmhubError } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/suggest';
import { invalidRanges } from '@krmhub/sources';
import { DEFAULT_RESTORE_DAYS } from '../catalogs/delete-catalog.js';
import { readTrustedProxies } from '../http/client-address.js';
import { canonicalPublicUrl, publicUrlProblem } from '../http/public-address.js';
import { LOG_LEVELS, type LogLevel } from '../log.js';
import { parseS3Url, type S3Credentials, type S3Place } from '../store/blobs/s3/place.js';
import { isPostgresUrl } from '../store/postgres/url.js';

export interface Config {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Folder of all stored data. */
  dataFolder: string;
  /** URL of PostgreSQL, which may have a password: never logged. Absent if the database is in the data folder. */
  databaseUrl?: string;
  /** S3-compatible store of the blobs; absent if they are in the data folder. */
  blobPlace?: S3Place;
  /** From the variables of the AWS tools; absent if they are not set. Never logged. */
  s3Credentials?: S3Credentials;
  /** Size of the local cache of that store. */
  blobCacheBytes: number;
  /** Whether clients get presigned URLs of that store. */
  blobRedirect: boolean;
  /** Where clients reach the registry, without a slash at the end. */
  publicUrl?: string;
  /** Addresses and CIDR ranges. */
  trustedProxies: readonly string[];
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
  /** How long a registry that stops serves requests, while it is not ready. */
  shutdownDelaySeconds: number;
  /** Addresses and CIDR ranges, beyond public ones, from which recipes may fetch catalogs. */
  sourceAddresses: readonly string[];
  /** Folder of `file:` sources; absent if they are refused. */
  sourceFolder?: string;
  /** File with the credentials for sources; absent for none. */
  sourceCredentials?: string;
  logLevel: LogLevel;
}

export interface Setting {
  name: `KRMHUB_${string}`;
  /** Option of `krmhub serve`. */
  flag?: string;
  unit: string;
  default: string;
  why: string;
}

/** Every setting of the server; docs/configuration.md is generated from it. */
export const SETTINGS = {
  host: {
    name: 'KRMHUB_HOST',
    flag: '--host',
    unit: 'address or host name',
    default: '127.0.0.1',
    why: 'Address to listen on. By default, only this machine can connect to the registry. With `0.0.0.0`, the registry listens on every network. Use a TLS proxy in front of it.',
  },
  port: {
    name: 'KRMHUB_PORT',
    flag: '--port',
    unit: 'TCP port, 0 to 65535',
    default: '8080',
    why: 'Port to listen on. 0 means any free port.',
  },
  data: {
    name: 'KRMHUB_DATA',
    flag: '--data',
    unit: 'folder',
    default: './data',
    why: 'Folder of the database, the blobs, and the first administrator token. If it does not exist, the registry creates it and allows access only for its owner.',
  },
  databaseUrl: {
    name: 'KRMHUB_DATABASE_URL',
    flag: '--database-url',
    unit: '`postgres://USER:PASSWORD@HOST:5432/DATABASE`',
    default: 'none; the database is a SQLite file in the data folder',
    why: 'PostgreSQL database of one registry process. The password can also be in PGPASSWORD. See [Keep the database in PostgreSQL](operate-postgres.md).',
  },
  blobUrl: {
    name: 'KRMHUB_BLOB_URL',
    flag: '--blob-url',
    unit: '`s3://BUCKET/PREFIX?endpoint=URL&region=REGION`',
    default: 'none; blobs are in the data folder',
    why: 'S3-compatible store of published files and pushed blobs. Without an endpoint, it is Amazon S3. The default region is AWS_REGION, else us-east-1. Credentials are in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN. See [Keep blobs in S3](operate-s3.md).',
  },
  blobCacheMebibytes: {
    name: 'KRMHUB_BLOB_CACHE_MEBIBYTES',
    unit: 'mebibytes, 0 for no cache',
    default: '1024',
    why: 'Size of the copies of blobs in the data folder when the blobs are in S3. The registry deletes the least recently used copies.',
  },
  blobRedirect: {
    name: 'KRMHUB_BLOB_REDIRECT',
    unit: 'true or false',
    default: 'false',
    why: 'Whether the registry redirects clients to presigned URLs for pushed blobs of 64 KiB or more when the blobs are in S3. The clients must be able to connect to the endpoint.',
  },
  publicUrl: {
    name: 'KRMHUB_PUBLIC_URL',
    unit: 'http or https URL',
    default: 'the address that the registry listens on',
    why: 'Public URL of a registry behind a proxy. Links, `Location`, the OpenAPI document, and the token realm use it. The proxy can strip or keep the path. With https, the registry tells browsers to use only https. The operator pages accept forms only from this origin.',
  },
  trustedProxies: {
    name: 'KRMHUB_TRUSTED_PROXIES',
    unit: 'addresses and CIDR ranges, separated by commas',
    default: 'none',
    why: 'Proxies whose `X-Forwarded-For` is trusted. The client address for limits and the log is the rightmost address that is not a trusted proxy.',
  },
  requestsPerMinute: {
    name: 'KRMHUB_REQUESTS_PER_MINUTE',
    unit: 'requests of one client address per minute, 0 for no limit',
    default: '3000',
    why: 'Limit on requests that require computation: searches, details, and histories. Stored bytes (newest catalogs, definitions, READMEs), health, readiness, and metrics do not count. All IPv6 addresses of a /64 network count together. A client can use the whole quota at once. Each process counts separately.',
  },
  writesPerMinute: {
    name: 'KRMHUB_WRITES_PER_MINUTE',
    unit: 'requests with one token per minute, 0 for no limit',
    default: '3000',
    why: 'Limit on requests that change data, including dry runs, so that one script cannot block others. The default allows 1,000 publishes without a delay.',
  },
  failedLoginsPerMinute: {
    name: 'KRMHUB_FAILED_LOGINS_PER_MINUTE',
    unit: 'rejected tokens of one client address per minute, 0 for no limit',
    default: '60',
    why: 'Above the limit, the registry rejects tokens from that address without a check, except tokens that were valid before.',
  },
  repositoryMebibytes: {
    name: 'KRMHUB_REPOSITORY_MEBIBYTES',
    unit: 'mebibytes per artifact repository, 0 for no limit',
    default: '0',
    why: 'Limit on the blobs, manifests, and open uploads of one repository. The registry rejects a push above the limit. The artifacts of releases and snapshots do not count.',
  },
  untaggedDays: {
    name: 'KRMHUB_UNTAGGED_DAYS',
    unit: 'days after the push, 0 for never',
    default: '0',
    why: 'Age at which the registry deletes an untagged manifest, unless a retained index or subject uses it. Set it if tags such as `latest` move often. Clients can pin an untagged manifest by digest, so the default deletes nothing. The registry never deletes releases and snapshots.',
  },
  trustedRoot: {
    name: 'KRMHUB_TRUSTED_ROOT',
    unit: 'file',
    default: 'the public sigstore instance, with the root that krmhub includes',
    why: 'The `trusted_root.json` of the sigstore instance to trust for keyless signatures: its certificates, logs, and timestamp authorities. The registry reads it at startup and never downloads it.',
  },
  snapshotValidDays: {
    name: 'KRMHUB_SNAPSHOT_VALID_DAYS',
    unit: 'days, 1 to 3650',
    default: '30',
    why: 'Validity of a snapshot signature, which states that the snapshot is the newest of its catalog. The registry renews it after half of this time. When it expires, clients reject old copies and registries that were down for too long.',
  },
  catalogRestoreDays: {
    name: 'KRMHUB_CATALOG_RESTORE_DAYS',
    unit: 'days after the deletion, 0 to 3650',
    default: String(DEFAULT_RESTORE_DAYS),
    why: 'How long an administrator can restore a deleted catalog. Then the registry deletes its data. A later change of this setting applies only to later deletions. The name stays reserved.',
  },
  shutdownDelaySeconds: {
    name: 'KRMHUB_SHUTDOWN_DELAY_SECONDS',
    unit: 'seconds, 0 to 300',
    default: '0',
    why: 'How long the registry continues to serve requests after SIGTERM. During this time, `/readyz` fails, and responses close their connection. Set it to the time that a load balancer in front of several processes needs to notice that.',
  },
  sourceAddresses: {
    name: 'KRMHUB_SOURCE_ADDRESSES',
    unit: 'addresses and CIDR ranges, separated by commas',
    default: 'none',
    why: 'Private addresses from which recipes can fetch catalogs. The registry rejects all other private addresses, such as this machine, private networks, and cloud metadata services, also after name resolution. This protects internal services from recipe authors.',
  },
  sourceFolder: {
    name: 'KRMHUB_SOURCE_FOLDER',
    unit: 'folder',
    default: 'none; `file:` sources are rejected',
    why: 'Folder of the catalogs for `file:` URLs in recipes. The registry does not read files outside this folder.',
  },
  sourceCredentials: {
    name: 'KRMHUB_SOURCE_CREDENTIALS',
    unit: 'file',
    default: 'none',
    why: 'JSON file of credentials for upstream catalogs, by origin: `{"https://host": {"token": "…"}}` or `{"username": "…", "password": "…"}`. The registry sends credentials only to their origin. It also sends them to the token service of an OCI registry with the same host and port, of Docker Hub or GitLab.com, or with an origin in the list `tokenServices` of the credentials. The registry reads the file each time. Only its owner can have access to it.',
  },
  logLevel: {
    name: 'KRMHUB_LOG_LEVEL',
    unit: LOG_LEVELS.join(', '),
    default: 'info',
    why: 'Lowest level of the log. Log lines are JSON on stdout.',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
export type ConfigOverrides = Partial<Record<SettingName, string>>;

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
  const logLevel = text('logLevel');
  if (!isLogLevel(logLevel.value)) {
    problems.push(`${logLevel.from}: "${logLevel.value}" is not one of ${LOG_LEVELS.join(', ')}`);
  }
  const databaseUrl = given('databaseUrl');
  if (databaseUrl !== undefined && !isPostgresUrl(databaseUrl.value)) {
    // It may have a password.
    problems.push(`${databaseUrl.from}: not a URL as postgres://USER@HOST:5432/DATABASE`);
  }
  const s3Credentials = s3CredentialsOf(env);
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
      problems.push(`${setting.from}: ${named}: not an address or a CIDR range such as 10.0.0.0/8`);
    }
    return entries;
  };
  const trustedProxies = ranges('trustedProxies', (entries) => readTrustedProxies(entries).problems);
  const sourceAddresses = ranges('sourceAddresses', invalidRanges);
  const sourceFolder = given('sourceFolder');
  const sourceCredentials = given('sourceCredentials');
  const validDays = text('snapshotValidDays');
  if (!/^\d{1,4}$/.test(validDays.value) || !isBetween(Number(validDays.value), 1, 3_650)) {
    problems.push(`${validDays.from}: "${validDays.value}" is not a number of days from 1 to 3650`);
  }
  const restoreDays = text('catalogRestoreDays');
  if (!/^\d{1,4}$/.test(restoreDays.value) || !isBetween(Number(restoreDays.value), 0, 3_650)) {
    problems.push(`${restoreDays.from}: "${restoreDays.value}" is not a number of days from 0 to 3650`);
  }
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
    blobCacheBytes: count('blobCacheMebibytes') * 1_048_576,
  };
  if (problems.length > 0 || !isLogLevel(logLevel.value)) {
    throw new KrmhubError('usage', `invalid configuration:\n  ${problems.join('\n  ')}`, {
      hint: `Use these settings: ${Object.values(SETTINGS)
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
    catalogRestoreDays: Number(restoreDays.value),
    shutdownDelaySeconds: Number(shutdownDelay.value),
    ...limits,
    blobRedirect: redirect.value === 'true',
    ...(databaseUrl === undefined ? {} : { databaseUrl: databaseUrl.value }),
    ...(blobPlace === undefined ? {} : { blobPlace }),
    ...(s3Credentials === undefined ? {} : { s3Credentials }),
    ...(trustedRoot === undefined ? {} : { trustedRoot: trustedRoot.value }),
    ...(sourceFolder === undefined ? {} : { sourceFolder: sourceFolder.value }),
    ...(sourceCredentials === undefined ? {} : { sourceCredentials: sourceCredentials.value }),
    ...(publicUrl === undefined ? {} : { publicUrl: canonicalPublicUrl(publicUrl.value) }),
  };
}

/** The variables of the AWS tools. */
function s3CredentialsOf({
  AWS_ACCESS_KEY_ID: accessKeyId = '',
  AWS_SECRET_ACCESS_KEY: secretAccessKey = '',
  AWS_SESSION_TOKEN: sessionToken = '',
}: Readonly<Record<string, string | undefined>>): S3Credentials | undefined {
  if (accessKeyId === '' || secretAccessKey === '') return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken === '' ? {} : { sessionToken }) };
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
