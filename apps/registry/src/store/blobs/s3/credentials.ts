/**
 * Credentials for an S3-compatible store, where the tools of AWS look for them, in their order: the environment, a web
 * identity (EKS), the shared credentials file, the endpoint of a container (ECS, EKS Pod Identity), and the metadata
 * of an instance (IMDSv2). Temporary ones are replaced before they expire.
 */

import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { StoreAway } from '../../store-away.js';
import { S3_LIMITS } from './limits.js';
import type { S3Credentials } from './place.js';
import { textOf } from './xml.js';

type Env = Readonly<Record<string, string | undefined>>;

/** Returns credentials that are valid now. Rejects with `usage` if there are none, and `unavailable`. */
export type CredentialSource = () => Promise<S3Credentials>;

interface Found extends S3Credentials {
  /** Milliseconds since the epoch; absent for credentials without an end. */
  expiresAt?: number;
}

const NONE =
  'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with a credentials file, or give the machine or the service account a role.';

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
  for (const source of [fromEnvironment, fromWebIdentity, fromFile, fromContainer, fromInstance]) {
    const found = await source(env);
    if (found !== undefined) return found;
  }
  throw new KrmhubError(
    'usage',
    'the blobs are in an S3-compatible store, and there are no credentials for it',
    { hint: NONE },
  );
}

async function fromEnvironment(env: Env): Promise<Found | undefined> {
  return credentials({
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    sessionToken: env.AWS_SESSION_TOKEN,
  });
}

/** AssumeRoleWithWebIdentity of the AWS Security Token Service, with the token of a service account. */
async function fromWebIdentity(env: Env): Promise<Found | undefined> {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role } = env;
  if (!file || !role) return undefined;
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1';
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const url = new URL(env.AWS_ENDPOINT_URL_STS || `https://sts.${region}.${domain}/`);
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: env.AWS_ROLE_SESSION_NAME || 'krmhub',
    WebIdentityToken: (await readText(file)).trim(),
  });
  const text = await request(url, { method: 'POST', body });
  return required(url, {
    accessKeyId: textOf(text, 'AccessKeyId'),
    secretAccessKey: textOf(text, 'SecretAccessKey'),
    sessionToken: textOf(text, 'SessionToken'),
    expiration: textOf(text, 'Expiration'),
  });
}

/** The profile AWS_PROFILE, or `default`, of the shared credentials file. It can be replaced at any time. */
async function fromFile(env: Env): Promise<Found | undefined> {
  const named = env.AWS_SHARED_CREDENTIALS_FILE;
  const file = named || path.join(env.HOME || homedir(), '.aws/credentials');
  const profile = env.AWS_PROFILE || 'default';
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if (!named && env.AWS_PROFILE === undefined) return undefined;
    throw unreadable(file, cause);
  }
  let isProfile = false;
  const values: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const [, section] = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line) ?? [];
    if (section !== undefined) isProfile = section === profile;
    const [, name, value] = /^\s*([a-z_]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (isProfile && name !== undefined) values[name] = value!;
  }
  const found = credentials({
    accessKeyId: values.aws_access_key_id,
    secretAccessKey: values.aws_secret_access_key,
    sessionToken: values.aws_session_token,
  });
  if (found !== undefined) return { ...found, expiresAt: Date.now() + S3_LIMITS.fileMilliseconds };
  if (env.AWS_PROFILE === undefined) return undefined;
  throw new KrmhubError('usage', `${file} has no keys for the profile ${profile}`, { hint: NONE });
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

type Parts = Partial<
  Record<'accessKeyId' | 'secretAccessKey' | 'sessionToken' | 'expiration', string | undefined>
>;

/** The document of container endpoints and of the instance metadata service. */
function parsed(text: string): Parts {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = JSON.parse(text) as Record<string, string>;
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token,
    expiration: Expiration,
  };
}

function required({ host }: URL, parts: Parts): Found {
  const found = credentials(parts);
  if (found !== undefined) return found;
  throw new KrmhubError('unavailable', `${host} returned no credentials for the S3-compatible store`, {
    hint: NONE,
  });
}

function credentials({ accessKeyId, secretAccessKey, sessionToken, expiration }: Parts): Found | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  const expiresAt = Date.parse(expiration ?? '');
  return {
    accessKeyId,
    secretAccessKey,
    ...defined({
      sessionToken: sessionToken || undefined,
      expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
    }),
  };
}

async function request(
  url: URL,
  { milliseconds = S3_LIMITS.responseMilliseconds, ...init }: RequestInit & { milliseconds?: number },
): Promise<string> {
  try {
    const response = await fetch(url, {
      ...init,
      redirect: 'error',
      signal: AbortSignal.timeout(milliseconds),
    });
    const text = (await response.text()).slice(0, S3_LIMITS.maxCredentialsLength);
    if (response.ok) return text;
    throw new Error(textOf(text, 'Code') ?? `HTTP status ${response.status}`);
  } catch (cause) {
    const { message, cause: reason } = cause as Error & { cause?: NodeJS.ErrnoException };
    throw new StoreAway(
      'blobs',
      `cannot get credentials for the S3-compatible store from ${url.host}: ${reason?.code ?? message}`,
      { hint: 'Check the role and its trust policy, and whether the address is reachable.', cause },
    );
  }
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw unreadable(file, cause);
  });
}

function unreadable(file: string, cause: unknown): KrmhubError {
  return new KrmhubError(
    'usage',
    `cannot read the credentials of the S3-compatible store in ${file}: ${(cause as NodeJS.ErrnoException).code}`,
    { hint: NONE, cause },
  );
}
