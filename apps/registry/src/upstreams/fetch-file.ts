import { type FetcherOptions, SourceFailure, SourceFetcher } from '@krmhub/sources';

/** Fetches a file over HTTPS. Rejects with an Error that says why. */
export type FetchFile = (url: string) => Promise<Uint8Array>;

/**
 * Returns what fetches small files from servers that users name, by the rules for sources: no private addresses but
 * those of `sourceAddresses`. It follows no redirects, because another host proves nothing.
 */
export function fileFetcher(options: {
  sourceAddresses?: readonly string[];
  temporaryFolder: string;
  maxBytes: number;
  milliseconds: number;
  /** Where hosts are, for tests. */
  network?: Pick<FetcherOptions, 'resolve' | 'proxy'>;
}): FetchFile {
  const { sourceAddresses = [], temporaryFolder, maxBytes, milliseconds, network } = options;
  const fetcher = new SourceFetcher({
    userAgent: 'krmhub',
    allowedAddresses: sourceAddresses,
    protocols: ['https'],
    temporaryFolder,
    ...network,
    limits: { maxRedirects: 0, maxCatalogBytes: maxBytes, totalMilliseconds: milliseconds },
  });
  return async (url) => {
    const { bytes } = await fetcher
      .fetch({ address: { type: 'http', url }, bundles: false })
      .catch(hideAddress);
    if (bytes === undefined) throw new Error('the server sent no content');
    return bytes;
  };
}

/** A user who may name a server must not learn addresses inside the network of the registry. */
function hideAddress(error: unknown): never {
  if (!(error instanceof SourceFailure) || error.problem !== 'forbidden-address') throw error;
  throw new Error('the server is not on the public Internet, and KRMHUB_SOURCE_ADDRESSES does not allow it');
}
