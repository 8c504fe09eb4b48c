import type { Environment } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { SigningServices } from '@krmhub/signing/keyless';
import { isLoopback } from '../registry/plain-http.js';

export interface ServiceOptions {
  fulcioUrl?: string;
  rekorUrl?: string;
  rekorVersion?: '1' | '2';
  timestampUrl?: string;
}

/** The public sigstore instance; krmhub includes its trusted root. */
const PUBLIC_SERVICES = {
  fulcioUrl: 'https://fulcio.sigstore.dev',
  rekorUrl: 'https://rekor.sigstore.dev',
  timestampUrl: 'https://timestamp.sigstore.dev',
} as const;

/**
 * Returns the signing services: all of the public instance, or all of another one. A mix would publish in a public log
 * what a private instance signs. Throws `usage`.
 */
export function signingServices({ env }: Environment, options: ServiceOptions): SigningServices {
  const fulcioUrl = parseServiceUrl('--fulcio-url', options.fulcioUrl ?? env.KRMHUB_FULCIO_URL);
  const rekorUrl = parseServiceUrl('--rekor-url', options.rekorUrl ?? env.KRMHUB_REKOR_URL);
  const timestampUrl = parseServiceUrl('--timestamp-url', options.timestampUrl ?? env.KRMHUB_TIMESTAMP_URL);
  const rekorVersion = options.rekorVersion === '2' ? 2 : 1;
  if (fulcioUrl === undefined && rekorUrl === undefined) {
    if (timestampUrl !== undefined) return { ...PUBLIC_SERVICES, timestampUrl, rekorVersion };
    return { ...PUBLIC_SERVICES, rekorVersion };
  }
  if (fulcioUrl === undefined || rekorUrl === undefined) {
    const missing = fulcioUrl === undefined ? '--fulcio-url' : '--rekor-url';
    throw new KrmhubError(
      'usage',
      `${missing} is required: a private sigstore instance requires a certificate authority and a log`,
      {
        hint: 'Use both --fulcio-url and --rekor-url, or neither for the public instance.',
      },
    );
  }
  return { fulcioUrl, rekorUrl, rekorVersion, ...defined({ timestampUrl }) };
}

/** Reports whether the log is public, so that it publishes the identity of the signer permanently. */
export function isPublicInstance({ rekorUrl }: SigningServices): boolean {
  return new URL(rekorUrl).hostname.endsWith('.sigstore.dev');
}

function parseServiceUrl(option: string, text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  const url = parseUrl(text);
  const known = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url === undefined || !known || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new KrmhubError('usage', `${option} is not a valid https URL`, {
      hint: `Use an https URL. Only a local service can use http, for example: ${option} http://localhost:5555`,
    });
  }
  return url.href.replace(/\/+$/, '');
}
