import { hideBeginning } from './hide-passwords.js';

/** Shortens foreign text for messages, and replaces control characters. Hides passwords, which may be cut in two. */
export function printable(text: string, maxLength = 200): string {
  const clean = hideBeginning(text, () => '...').replace(/[^\x20-\x7e]/g, '?');
  return clean.length > maxLength ? `${clean.slice(0, maxLength)}…` : clean;
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was closed',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name could not be resolved',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  EPIPE: 'the connection was closed',
  EPROTO: 'the server does not use TLS; check whether the URL must begin with http://',
  ERR_STREAM_PREMATURE_CLOSE: 'the connection was closed',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain contains a self-signed certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
};

/** Returns the reason of a failed connection for messages. */
export function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return printable(String(error));
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (REASONS[code] !== undefined) return REASONS[code];
  if (code.startsWith('HPE_')) return 'the response is not HTTP';
  if (/^(Z_|ERR_BROTLI|ERR__ERROR_FORMAT)/.test(code)) return 'the response cannot be decompressed';
  return printable(error.message === '' ? code : error.message);
}
