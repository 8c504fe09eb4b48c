/**
 * Credentials for an S3-compatible store, where the tools of AWS look for them, in their order: the environment, a web
 * identity (EKS), the profile in the shared files, the endpoint of a container (ECS, EKS Pod Identity), and the metadata
 * of an instance (IMDSv2). Temporary ones are replaced before they expire.
 */

import { readFile } from 'node:fs/promises';
import { KrmhubError } from '@krmhub/schema';
import {
  CREDENTIALS_HINT,
  type Profile,
  type Profiles,
  profileName,
  readProfiles,
  unreadableFile,
} from './aws-profiles.js';
import { credentials, type Found, parsed, request, required } from './credential-response.js';
import { S3_LIMITS } from './limits.js';
import type { S3Credentials } from './place.js';
import { assumeRole, assumeRoleWithWebIdentity } from './security-token-service.js';

type Env = Readonly<Record<string, string | undefined>>;

/** Returns credentials that are valid now. Rejects with `usage` if there are none, and `unavailable`. */
export type CredentialSource = () => Promise<S3Credentials>;

/** Returns the source for an environment. Credentials are requested when they are first needed. */
export function credentialSource(env: Env, now: () => number = Date.now): CredentialSource {
  let current: Found | undefined;
  let pending: Promise<Found> | undefined;
  const isDue = ({ expiresAt }: Found, before: number) =>
    expiresAt !== undefined && expiresAt - now() < before;
  return async () => {
    if (current !== undefined && !isDue(current, S3_LIMITS.renewMilliseconds)) return current;
    pending ??= find(env).finally(() => {
      pending = undefined;
    });
    try {
      current = await pending;
    } catch (error) {
      // The last ones may be valid for a few minutes more.
      if (current === undefined || isDue(current, 0)) throw error;
    }
    return current;
  };
}

async function find(env: Env): Promise<Found> {
  for (const source of [fromEnvironment, fromWebIdentity, fromProfile, fromContainer, fromInstance]) {
    const found = await source(env);
    if (found !== undefined) return found;
  }
  throw new KrmhubError(
    'usage',
    'the blobs are in an S3-compatible store, and there are no credentials for it',
    { hint: CREDENTIALS_HINT },
  );
}

async function fromEnvironment(env: Env): Promise<Found | undefined> {
  return credentials({
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    sessionToken: env.AWS_SESSION_TOKEN,
  });
}

async function fromWebIdentity(env: Env): Promise<Found | undefined> {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role, AWS_ROLE_SESSION_NAME: session } = env;
  if (!file || !role) return undefined;
  return assumeRoleWithWebIdentity(env, { role, session }, (await readText(file)).trim());
}

/** The profile AWS_PROFILE, or `default`, of the files of the AWS tools. */
async function fromProfile(env: Env): Promise<Found | undefined> {
  const read = await readProfiles(env);
  const name = profileName(env);
  const found = read.profiles.has(name) ? await ofProfile(env, read, [name]) : undefined;
  if (found !== undefined || env.AWS_PROFILE === undefined) return found;
  throw profileError(read, name, 'has no keys and no role');
}

/** `names` are the profiles that led here; the last one is asked. */
async function ofProfile(env: Env, read: Profiles, names: readonly string[]): Promise<Found | undefined> {
  const name = names.at(-1)!;
  const profile = read.profiles.get(name);
  if (profile === undefined) throw profileError(read, name, 'does not exist');
  const keys = credentials({
    accessKeyId: profile.aws_access_key_id,
    secretAccessKey: profile.aws_secret_access_key,
    sessionToken: profile.aws_session_token,
  });
  const own = keys && { ...keys, expiresAt: Date.now() + S3_LIMITS.fileMilliseconds };
  // A role may name its own profile as the one with the keys.
  const isSource = names.slice(0, -1).includes(name);
  if (isSource && own === undefined) throw profileError(read, name, 'has itself as its source_profile');
  if (profile.role_arn && !isSource) return ofRole(env, read, names, profile);
  if (own !== undefined) return own;
  const [field, what] = UNSUPPORTED.find(([one]) => profile[one]) ?? [];
  if (field !== undefined) throw profileError(read, name, `has ${field}: krmhub does not support ${what}`);
  return undefined;
}

/** What a registry cannot do: no one signs in, and no program of a file runs. */
const UNSUPPORTED = [
  ['sso_session', 'single sign-on'],
  ['sso_start_url', 'single sign-on'],
  ['credential_process', 'programs that print credentials'],
] as const;

async function ofRole(env: Env, read: Profiles, names: readonly string[], profile: Profile): Promise<Found> {
  const name = names.at(-1)!;
  const role = {
    role: profile.role_arn!,
    session: profile.role_session_name,
    externalId: profile.external_id,
    seconds: profile.duration_seconds,
    region: profile.region,
  };
  if (profile.mfa_serial) {
    throw profileError(
      read,
      name,
      'has mfa_serial: krmhub does not support devices for multi-factor authentication',
    );
  }
  const file = profile.web_identity_token_file;
  if (file) return assumeRoleWithWebIdentity(env, role, (await readText(file)).trim());
  const { source_profile: source, credential_source: kind } = profile;
  if (source) {
    const keys = await ofProfile(env, read, [...names, source]);
    if (keys === undefined) throw profileError(read, source, 'has no keys and no role');
    return assumeRole(env, role, keys);
  }
  const from = {
    Environment: fromEnvironment,
    Ec2InstanceMetadata: fromInstance,
    EcsContainer: fromContainer,
  };
  if (!kind || !Object.hasOwn(from, kind)) {
    throw profileError(
      read,
      name,
      'has role_arn, but no valid source_profile, credential_source, or web_identity_token_file',
    );
  }
  const keys = await from[kind as keyof typeof from](env);
  if (keys === undefined)
    throw profileError(read, name, `has credential_source = ${kind}, which has no credentials`);
  return assumeRole(env, role, keys);
}

function profileError({ files }: Profiles, name: string, what: string): KrmhubError {
  return new KrmhubError('usage', `the profile ${name} in ${files.join(' and ')} ${what}`, {
    hint: CREDENTIALS_HINT,
  });
}

async function fromContainer(env: Env): Promise<Found | undefined> {
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } = env;
  if (!relative && !full) return undefined;
  const url = new URL(relative ? `http://169.254.170.2${relative}` : full!);
  const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  const token = file ? (await readText(file)).trim() : env.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  const text = await request(url, { headers: token ? { Authorization: token } : {} });
  return required(url, parsed(text));
}

/** Version 2 of the instance metadata service, which needs a token. Other machines do not answer in time. */
async function fromInstance(env: Env): Promise<Found | undefined> {
  if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') return undefined;
  const base = env.AWS_EC2_METADATA_SERVICE_ENDPOINT || 'http://169.254.169.254';
  const at = (name: string) => new URL(`/latest/${name}`, base);
  const token = await request(at('api/token'), {
    method: 'PUT',
    headers: { 'X-aws-ec2-metadata-token-ttl-seconds': '300' },
    milliseconds: S3_LIMITS.metadataMilliseconds,
  }).catch(() => undefined);
  if (token === undefined) return undefined;
  const headers = { 'X-aws-ec2-metadata-token': token.trim() };
  const roles = at('meta-data/iam/security-credentials/');
  const [role = ''] = (await request(roles, { headers }).catch(() => '')).trim().split('\n');
  if (role === '') return undefined;
  const url = new URL(encodeURIComponent(role), roles);
  return required(url, parsed(await request(url, { headers })));
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw unreadableFile(file, cause);
  });
}
