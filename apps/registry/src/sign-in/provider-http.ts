import { defined } from '@krmhub/schema/defined';
import { type FetcherOptions, SourceFailure, SourceFetcher } from '@krmhub/sources';
import type { CustomFetchOptions } from 'openid-client';
import type { FetchFile } from '../upstreams/fetch-file.js';

/** Limits on a request to a provider, for which a request of a user waits: bytes of the response, and time. */
const LIMITS = { maxCatalogBytes: 262_144, totalMilliseconds: 5_000 };

/** How the registry talks to a provider. Rejects with SourceFailures and Errors that say why. */
export interface ProviderFetch {
  file: FetchFile;
  /** As `fetch`, for `openid-client`. */
  request: (url: string, options: CustomFetchOptions) => Promise<Response>;
}

/**
 * Returns what sends requests to a provider. The operator chose it, so it may have an internal address; but what the
 * configuration of a public provider names may not. It follows no redirects.
 */
export function providerFetch(
  issuer: string,
  {
    temporaryFolder,
    network,
  }: {
    temporaryFolder: string;
    /** Where hosts are, for tests. */
    network?: Pick<FetcherOptions, 'resolve'>;
  },
): ProviderFetch {
  const fetcher = new SourceFetcher({
    userAgent: 'krmhub',
    allowedAddresses: 'as-named',
    protocols: issuer.startsWith('https:') ? ['https'] : ['https', 'http'],
    temporaryFolder,
    ...network,
    limits: LIMITS,
  });
  const send = async (url: string, options: Partial<CustomFetchOptions>) => {
    const { method = 'GET', headers = { Accept: 'application/json' }, body, signal } = options;
    const sent = defined({ body: body == null ? undefined : String(body), signal });
    return fetcher
      .send({ url, namedBy: issuer, method, headers, ...sent })
      .catch((error) => explainAddress(error, url));
  };
  return {
    file: async (url) => {
      const { status, bytes } = await send(url, {});
      if (status !== 200) throw new Error(`${url} has the status ${status}`);
      return bytes;
    },
    request: async (url, options) => {
      const { status, headers, bytes } = await send(url, options);
      if (status < 200 || status > 599) throw new Error(`${new URL(url).host} sent the status ${status}`);
      // It is decompressed.
      const { 'content-encoding': _, 'content-length': __, ...others } = headers;
      const isEmpty = [204, 205, 304].includes(status);
      return new Response(isEmpty ? null : new Uint8Array(bytes), { status, headers: others });
    },
  };
}

function explainAddress(error: unknown, url: string): never {
  if (!(error instanceof SourceFailure) || error.problem !== 'forbidden-address') throw error;
  throw new Error(`its configuration names ${new URL(url).origin}, which is not on the public Internet`);
}
