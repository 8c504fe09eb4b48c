/** Requests for credentials, and what is in their responses. */

import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { StoreAway } from '../../store-away.js';
import { CREDENTIALS_HINT } from './aws-profiles.js';
import { S3_LIMITS } from './limits.js';
import type { S3Credentials } from './place.js';
import { elementText } from './xml.js';

export interface Found extends S3Credentials {
  /** Milliseconds since the epoch; absent for credentials without an end. */
  expiresAt?: number;
}

type Parts = Partial<
  Record<'accessKeyId' | 'secretAccessKey' | 'sessionToken' | 'expiration', string | undefined>
>;

/** The document of container endpoints and of the instance metadata service. */
export function parsed(text: string): Parts {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = JSON.parse(text) as Record<string, string>;
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token,
    expiration: Expiration,
  };
}

export function required({ host }: URL, parts: Parts): Found {
  const found = credentials(parts);
  if (found !== undefined) return found;
  throw new KrmhubError('unavailable', `${host} returned no credentials for the S3-compatible store`, {
    hint: CREDENTIALS_HINT,
  });
}

export function credentials({
  accessKeyId,
  secretAccessKey,
  sessionToken,
  expiration,
}: Parts): Found | undefined {
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

export async function request(
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
    throw new Error(elementText(text, 'Code') ?? `HTTP status ${response.status}`);
  } catch (cause) {
    const { message, cause: reason } = cause as Error & { cause?: NodeJS.ErrnoException };
    throw new StoreAway(
      'blobs',
      `cannot get credentials for the S3-compatible store from ${url.host}: ${reason?.code ?? message}`,
      { hint: 'Check the role and its trust policy, and whether the address is reachable.', cause },
    );
  }
}
