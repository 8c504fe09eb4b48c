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
      .catch((error: unknown) => hideAddress(error, new URL(url).host));
    if (bytes === undefined) throw new Error('the server sent no content');
    return bytes;
  };
}

/** Codes of names without an address, and of name servers that do not answer. */
const NO_ADDRESS = ['ENOTFOUND', 'ENODATA', 'EAI_AGAIN'];

/**
 * A user who may name a server must not learn addresses inside the network of the registry, and not which names have
 * one there: all of these have the same message.
 */
function hideAddress(error: unknown, host: string): never {
  if (!(error instanceof SourceFailure)) throw error;
  const { code } = (error.cause ?? {}) as { code?: unknown };
  if (error.problem !== 'forbidden-address' && !NO_ADDRESS.includes(String(code))) throw error;
  throw new Error(
    `${host} has no address on the public Internet. If it is new, try again later. For a server inside the network of ` +
      'the registry, its operator allows the address in KRMHUB_SOURCE_ADDRESSES',
  );
}
