import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Diagnostic, hasErrors, KrmhubError, type YamlDocument } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/suggest';
import { readYaml } from '@krmhub/yaml';
import { CONFIG_VARIABLE, type Config, type ConfigFile, readConfig } from './config.js';
import { type ConfigOverrides, SETTINGS, type SettingName } from './settings.js';

/**
 * Reads the configuration, with the file in `--config` or KRMHUB_CONFIG if one is set; its path is relative to
 * `folder`. Rejects with a `usage` KrmhubError that lists every problem.
 */
export async function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  { config: option, ...overrides }: ConfigOverrides & { config?: string },
  folder: string,
): Promise<Config> {
  const name = option ?? env[CONFIG_VARIABLE];
  if (name === undefined || name === '') return readConfig(env, overrides);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path.resolve(folder, name));
  } catch (cause) {
    const from = option === undefined ? CONFIG_VARIABLE : '--config';
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'no such file' : (cause as Error).message;
    throw new KrmhubError('usage', `cannot read the configuration file ${name}: ${reason}`, {
      hint: `Correct the path in ${from}.`,
      cause,
    });
  }
  return readConfig(env, overrides, readConfigFile(bytes, name));
}

/** Parses YAML or JSON with the names in SETTINGS as keys; `file` is the name in messages. */
export function readConfigFile(bytes: Uint8Array, file: string): ConfigFile {
  const { documents, diagnostics } = readYaml(bytes, { file });
  const values = new Map<SettingName, { value: string; from: string }>();
  if (hasErrors(diagnostics)) return { values, problems: diagnostics.map(line) };
  const [document] = documents;
  if (document === undefined || documents.length > 1 || !isMapping(document.value)) {
    return { values, problems: [`${file}: expected one mapping of settings`] };
  }
  const names = Object.keys(SETTINGS);
  const problems: string[] = [];
  for (const [name, value] of Object.entries(document.value)) {
    if (!isSettingName(name)) {
      const meant = suggest(name, names);
      const known = meant === undefined ? `use one of ${names.join(', ')}` : `did you mean ${meant}?`;
      problems.push(`${place(document, file, name, 'key')}: unknown setting "${name}"; ${known}`);
      continue;
    }
    const text = toText(value);
    const from = `${place(document, file, name, 'value')}: ${name}`;
    if (text === undefined) problems.push(`${from}: not a string or a number${listHint(name)}`);
    else values.set(name, { value: text, from });
  }
  return { values, problems };
}

function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

/** Returns a list in the comma-separated form of the environment. */
function toText(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    return value.every((item) => typeof item === 'string') ? value.join(',') : undefined;
  }
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

const LISTS: ReadonlySet<SettingName> = new Set([
  'trustedProxies',
  'internalAddresses',
  'sourceAddresses',
  'dnsServers',
  'oidcScopes',
]);

function listHint(name: SettingName): string {
  return LISTS.has(name) ? ', or a list of strings' : '';
}

function place(document: YamlDocument, file: string, name: string, target: 'key' | 'value'): string {
  const start = document.locate([name], target)?.start;
  return start === undefined ? file : `${file}:${start.line}:${start.column}`;
}

function line({ file, range, message }: Diagnostic): string {
  return `${file}${range === undefined ? '' : `:${range.start.line}:${range.start.column}`}: ${message}`;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
