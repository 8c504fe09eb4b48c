import { SourceFetcher } from '@krmhub/sources';

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
}): FetchFile {
  const { sourceAddresses = [], temporaryFolder, maxBytes, milliseconds } = options;
  const fetcher = new SourceFetcher({
    userAgent: 'krmhub',
    allowedAddresses: sourceAddresses,
    protocols: ['https'],
    temporaryFolder,
    limits: { maxRedirects: 0, maxCatalogBytes: maxBytes, totalMilliseconds: milliseconds },
  });
  return async (url) => {
    const { bytes } = await fetcher.fetch({ address: { type: 'http', url }, bundles: false });
    if (bytes === undefined) throw new Error('the server sent no content');
    return bytes;
  };
}
