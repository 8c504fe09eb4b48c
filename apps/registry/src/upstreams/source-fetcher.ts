import { defined } from '@krmhub/schema/defined';
import { SourceFailure, SourceFetcher } from '@krmhub/sources';
import type { Log } from '../log.js';
import { readCredentialsFile } from './credentials-file.js';

export interface FetchSettings {
  /** Addresses and CIDR ranges, beyond public ones, that may be fetched from. */
  sourceAddresses?: readonly string[];
  /** Folder of `file:` sources; absent if they are refused. */
  sourceFolder?: string;
  /** File with the credentials for sources; absent for none. */
  sourceCredentials?: string;
}

/** Returns a fetcher for the server. It reaches its own machine and network only where the operator allows it. */
export function sourceFetcher(
  { sourceAddresses = [], sourceFolder, sourceCredentials }: FetchSettings,
  { temporaryFolder, log }: { temporaryFolder: string; log: Log },
): SourceFetcher {
  return new SourceFetcher({
    userAgent: 'krmhub',
    allowedAddresses: sourceAddresses,
    // HTTP without TLS is allowed only if the operator has allowed addresses of their own network.
    protocols: sourceAddresses.length === 0 ? ['https'] : ['https', 'http'],
    temporaryFolder,
    ...defined({
      fileFolder: sourceFolder,
      credentials:
        sourceCredentials === undefined
          ? undefined
          : (origin: string) => findCredentials(sourceCredentials, origin, log),
    }),
  });
}

async function findCredentials(file: string, origin: string, log: Log) {
  try {
    return (await readCredentialsFile(file)).get(origin);
  } catch (error) {
    log.error({ err: error }, 'cannot use the source credentials');
    // Every client can read why a source fails.
    throw new SourceFailure('unauthorized', 'cannot use the source credentials; see the log of the registry');
  }
}
