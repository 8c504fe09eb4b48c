import { createHmac, randomBytes } from 'node:crypto';
import type { FlowSecrets } from './identity-provider.js';

/** A sign-in that a browser began. */
export interface SignInFlow extends FlowSecrets {
  /** ID of the provider. */
  provider: string;
  /** Path of the page to open afterwards. */
  from: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** The value of the cookie of that browser. */
  cookie: string;
}

/** Begins a sign-in. */
export function beginFlow(wanted: { provider: string; from: string; now: number }): SignInFlow {
  const { provider, from, now } = wanted;
  const about = Buffer.from(JSON.stringify([provider, from, now])).toString('base64url');
  return readFlow(`${randomBytes(32).toString('base64url')}.${about}`)!;
}

/**
 * Returns the sign-in of a cookie; undefined if it is none. All secrets follow from the random number in it and from the
 * rest of it, so that the registry stores nothing, and a changed cookie belongs to no `state` that a provider returns.
 */
export function readFlow(cookie: string): SignInFlow | undefined {
  const [, id, about] = /^([\w-]{43})\.([\w-]{1,2000})$/.exec(cookie) ?? [];
  if (id === undefined || about === undefined) return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(about, 'base64url').toString());
  } catch {
    return undefined;
  }
  const [provider, from, startedAt] = Array.isArray(parts) ? parts : [];
  if (typeof provider !== 'string' || typeof from !== 'string' || typeof startedAt !== 'number')
    return undefined;
  const secret = (name: string) => createHmac('sha256', id).update(`${name} ${about}`).digest('base64url');
  return {
    provider,
    from,
    startedAt,
    cookie,
    state: secret('state'),
    nonce: secret('nonce'),
    verifier: secret('verifier'),
  };
}
