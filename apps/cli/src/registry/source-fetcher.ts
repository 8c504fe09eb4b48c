import type { Environment, Trace } from '@krmhub/consume/ports';
import type { Credentials } from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import { SOURCE_LIMITS, type SourceCredentials, SourceFetcher, type SourceLimits } from '@krmhub/sources';
import { childEnvironment } from '../io/child-environment.js';
import type { Io } from '../io/io.js';
import { VERSION } from '../io/version.js';
import { proxyFor } from './connection.js';
import { httpCredentials, ociCredentials } from './find-credentials.js';
import { plainHttpHosts } from './plain-http.js';

/**
 * Returns a fetcher of catalogs with the credentials, the git configuration, and the proxy of this user. A public address does not lead it to a
 * private one. What a server gave for credentials that it refuses now does not stay in the cache.
 */
export function sourceFetcher(
  io: Io,
  options: {
    /** Folder for `file:` sources. Without it they are rejected. */
    fileFolder?: string;
    temporaryFolder: string;
    limits?: Partial<SourceLimits>;
  },
): SourceFetcher {
  const { PATH, SSH_AUTH_SOCK } = io.env;
  const known = new Map<string, Promise<SourceCredentials | undefined>>();
  return new SourceFetcher({
    userAgent: `krmhub/${VERSION}`,
    allowedAddresses: 'as-named',
    credentials: async (origin, { type, refused }) => {
      // git asks its own configuration. Everything else is read without credentials first.
      if (type === 'git' || refused === undefined) return undefined;
      const key = `${type} ${origin}`;
      const asked = known.get(key) ?? findCredentials(io, type, new URL(origin));
      known.set(key, asked);
      return asked;
    },
    onRefused: async (address, actor) =>
      (await import('./forget-refused.js')).forgetActor(io, address, actor),
    proxy: (url) => proxyFor(io, url),
    plainHttpRegistries: plainHttpHosts(io),
    protocols: ['https', 'http', 'ssh', 'file'],
    userEnvironment: childEnvironment(io),
    ...options,
    limits: {
      ...timeouts(io.requestTimeout),
      ...options.limits,
    },
    ...defined({ programFolders: PATH, sshAgentSocket: SSH_AUTH_SOCK }),
  });
}

async function findCredentials(
  io: Environment & Trace,
  type: 'http' | 'oci',
  origin: URL,
): Promise<SourceCredentials | undefined> {
  if (type === 'http') return httpCredentials(io, origin);
  const found = await ociCredentials(io, origin);
  return found && sourceCredentials(found);
}

/** Returns the credentials for an OCI registry as those of a source. */
export function sourceCredentials(credentials: Credentials): SourceCredentials {
  if ('username' in credentials) return credentials;
  const { identityToken: token, ...others } = credentials;
  return { token, ...others };
}

/** Nothing takes longer than the limit of the whole fetch, unless the user waits longer for one response. */
function timeouts(milliseconds: number | undefined): Partial<SourceLimits> {
  if (milliseconds === undefined) return {};
  return {
    connectMilliseconds: milliseconds,
    idleMilliseconds: milliseconds,
    totalMilliseconds: Math.max(milliseconds, SOURCE_LIMITS.totalMilliseconds),
  };
}
