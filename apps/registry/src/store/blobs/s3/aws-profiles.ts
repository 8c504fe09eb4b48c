/**
 * Profiles as the tools of AWS keep them: `~/.aws/credentials` and `~/.aws/config`. The first has keys only and wins.
 * Both can be replaced at any time.
 */

import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema';

type Env = Readonly<Record<string, string | undefined>>;

/** The fields of a profile. */
export type Profile = Readonly<Record<string, string>>;

export interface Profiles {
  /** The paths of the files. */
  files: readonly string[];
  profiles: ReadonlyMap<string, Profile>;
}

/** Returns the name of the profile that an environment selects. */
export function profileName(env: Env): string {
  return env.AWS_PROFILE || 'default';
}

/** Reads both files. A file that does not exist has no profiles, unless the environment names it. Throws `usage`. */
export async function readProfiles(env: Env): Promise<Profiles> {
  const folder = path.join(env.HOME || homedir(), '.aws');
  const { AWS_CONFIG_FILE: config, AWS_SHARED_CREDENTIALS_FILE: shared } = env;
  const files = [config || path.join(folder, 'config'), shared || path.join(folder, 'credentials')] as const;
  const profiles = new Map<string, Profile>();
  const add = (name: string, fields: Profile) => profiles.set(name, { ...profiles.get(name), ...fields });
  for (const [section, fields] of parseSections(await readOptional(files[0], Boolean(config)))) {
    // Other sections have no profiles: `sso-session NAME`, `services NAME`.
    const name = section === 'default' ? section : /^profile\s+(.+)$/.exec(section)?.[1];
    if (name !== undefined) add(name, fields);
  }
  for (const [name, fields] of parseSections(await readOptional(files[1], Boolean(shared))))
    add(name, fields);
  return { files, profiles };
}

async function readOptional(file: string, isNamed: boolean): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (!isNamed) return '';
    throw unreadableFile(file, cause);
  }
}

/**
 * The sections of a file. An indented line after a field without a value belongs to that field, and krmhub reads no such
 * field; other lines may be indented too.
 */
function parseSections(text: string): [name: string, fields: Record<string, string>][] {
  const sections: [string, Record<string, string>][] = [];
  let isNested = false;
  for (const line of text.split(/\r?\n/)) {
    const [, section] = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line) ?? [];
    if (section !== undefined) sections.push([section, {}]);
    const [, indent, name, value] = /^(\s*)([a-z_0-9]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (section !== undefined || indent === '') isNested = name !== undefined && value === '';
    const current = sections.at(-1);
    if (name === undefined || current === undefined || (isNested && indent !== '')) continue;
    current[1][name] = value!;
  }
  return sections;
}

export function unreadableFile(file: string, cause: unknown): KrmhubError {
  return new KrmhubError(
    'usage',
    `cannot read the credentials of the S3-compatible store in ${file}: ${(cause as NodeJS.ErrnoException).code}`,
    { hint: CREDENTIALS_HINT, cause },
  );
}

export const CREDENTIALS_HINT =
  'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with a profile that has keys or a role, or give the machine or the service account a role.';
