import { KrmhubError } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/lint/suggest';

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
    why: 'Where clients reach the registry when a proxy stands before it; shown in the OpenAPI document and on the first page.',
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
/** Variables with our prefix that belong to the command line. */
const CLIENT_VARIABLES = ['KRMHUB_REGISTRY', 'KRMHUB_TOKEN'];

/**
 * Reads the configuration; overrides (from the command line) win over the environment.
 * Throws a `usage` KrmhubError that names every problem, unknown `KRMHUB_` variables too.
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  overrides: ConfigOverrides = {},
): Config {
  const problems: string[] = unknownVariables(env);
  const text = (name: SettingName): { value: string; from: string } => {
    const setting: Setting = SETTINGS[name];
    const override = overrides[name];
    if (override !== undefined) return { value: override, from: setting.flag ?? setting.name };
    const value = env[setting.name];
    // An empty variable is how shells and compose files say "not set".
    return { value: value === undefined || value === '' ? setting.default : value, from: setting.name };
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
  const publicUrl = overrides.publicUrl ?? (env[SETTINGS.publicUrl.name] || undefined);
  const parsedUrl = publicUrl === undefined ? undefined : parsePublicUrl(publicUrl);
  if (publicUrl !== undefined && parsedUrl === undefined) {
    problems.push(
      `${SETTINGS.publicUrl.name}: "${publicUrl}" is no http or https URL without user, query and fragment`,
    );
  }
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
    ...(parsedUrl === undefined ? {} : { publicUrl: parsedUrl }),
  };
}

function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known: string[] = [...Object.values(SETTINGS).map(({ name }) => name), ...CLIENT_VARIABLES];
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

function isLogLevel(text: string): text is LogLevel {
  return (LOG_LEVELS as readonly string[]).includes(text);
}

function parsePublicUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  return (url.origin + url.pathname).replace(/\/+$/, '');
}
