import { KrmhubError } from '@krmhub/schema';
import type { SigningServices } from '@krmhub/signing/keyless';
import type { Io } from '../io/io.js';
import { isLoopback } from '../registry/connection.js';

export interface ServiceOptions {
  fulcioUrl?: string;
  rekorUrl?: string;
  rekorVersion?: '1' | '2';
  timestampUrl?: string;
}

/** The public instance, for which everybody has the trusted root. */
const PUBLIC_SERVICES = {
  fulcioUrl: 'https://fulcio.sigstore.dev',
  rekorUrl: 'https://rekor.sigstore.dev',
  timestampUrl: 'https://timestamp.sigstore.dev',
} as const;

/**
 * The services that sign: all of the public instance, or all of another one. Half of each would tell a public log what a
 * private instance signs. Throws `usage`.
 */
export function signingServices({ env }: Pick<Io, 'env'>, options: ServiceOptions): SigningServices {
  const fulcioUrl = address('--fulcio-url', options.fulcioUrl ?? env.KRMHUB_FULCIO_URL);
  const rekorUrl = address('--rekor-url', options.rekorUrl ?? env.KRMHUB_REKOR_URL);
  const timestampUrl = address('--timestamp-url', options.timestampUrl ?? env.KRMHUB_TIMESTAMP_URL);
  const rekorVersion = options.rekorVersion === '2' ? 2 : 1;
  if (fulcioUrl === undefined && rekorUrl === undefined) {
    if (timestampUrl !== undefined) return { ...PUBLIC_SERVICES, timestampUrl, rekorVersion };
    return { ...PUBLIC_SERVICES, rekorVersion };
  }
  if (fulcioUrl === undefined || rekorUrl === undefined) {
    const missing = fulcioUrl === undefined ? '--fulcio-url' : '--rekor-url';
    throw new KrmhubError(
      'usage',
      `${missing} is missing: an instance of sigstore is an authority and a log`,
      {
        hint: 'Name both, or none of them for the public instance.',
      },
    );
  }
  return { fulcioUrl, rekorUrl, rekorVersion, ...(timestampUrl === undefined ? {} : { timestampUrl }) };
}

/** Where somebody's name stands for everybody to read, for ever. */
export function isPublic({ rekorUrl }: SigningServices): boolean {
  return new URL(rekorUrl).hostname.endsWith('.sigstore.dev');
}

function address(option: string, text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const known = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url === undefined || !known || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new KrmhubError('usage', `${option} is no https:// address of a service`, {
      hint: 'The token of an identity is sent there, so only this machine is spoken to without TLS.',
    });
  }
  return url.href.replace(/\/+$/, '');
}
