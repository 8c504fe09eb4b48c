/**
 * Fetches catalogs, folders, and whole trees from git repositories.
 *
 * @module
 */

import { connect } from 'node:net';
import type { SourceAddress } from '@krmhub/catalog';
import { isInsecure } from '@krmhub/catalog/recipe/source-address';
import { defined } from '@krmhub/schema/defined';
import { parseUrl } from '@krmhub/schema/parse-url';
import { unbracketed } from '../address-guard.js';
import {
  credentialsFor,
  type FetchedCatalog,
  type FetchRequest,
  type SourceContext,
  type SourceCredentials,
} from '../context.js';
import { seconds } from '../deadline.js';
import { SourceFailure } from '../failure.js';
import { selectionKey } from '../folder-files.js';
import { networkFailure } from '../http/exchange.js';
import { withRetries } from '../retry.js';
import { siblingBundleNames } from '../sibling-bundles.js';
import { type GitSettings, gitEnvironment, helperEnvironment, type Remote } from './environment.js';
import { type FolderContext, findReleaseTags, readFolder, readReleaseTags, tagKey } from './read-folder.js';
import { RemoteRepository } from './remote-repository.js';
import { type GitRun, runGit } from './run-git.js';
import { TemporaryRepository } from './temporary-repository.js';

type GitAddress = Extract<SourceAddress, { type: 'git' }>;

const PORTS = { https: 443, http: 80, ssh: 22 };
/** Hosts that are safe in the ssh command, which a shell interprets. */
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9a-f:.]+\])$/;

/** Fetches a catalog and its bundles from a git repository. Rejects with SourceFailures only. */
export async function fetchGit(
  address: GitAddress,
  request: FetchRequest,
  context: SourceContext,
): Promise<FetchedCatalog> {
  return withRepository(address, context, (opened) => readCatalog(opened, address, request));
}

/** Runs `work` with a repository that can be fetched from, again after a failure that may be temporary. */
export async function withRepository<Result>(
  address: GitAddress,
  context: SourceContext,
  work: (opened: FolderContext) => Promise<Result>,
): Promise<Result> {
  const { options } = context;
  const remote = parseRemote(address, options.protocols);
  const isWeb = remote.protocol === 'https' || remote.protocol === 'http';
  // ssh uses its own keys, and its URLs have no origin.
  const credentials = isWeb ? await credentialsFor(remote.url.origin, { type: 'git' }, context) : undefined;
  try {
    return await attempt({ ...remote, credentials }, context, work);
  } catch (error) {
    const isDenied = error instanceof SourceFailure && error.problem === 'unauthorized';
    const mayAsk = options.userEnvironment !== undefined && isWeb && !isInsecure(address);
    const found = isDenied && mayAsk ? await askHelpers(remote, context) : undefined;
    if (found === undefined) throw error;
    return attempt({ ...remote, credentials: found }, context, work);
  }
}

async function attempt<Result>(
  remote: Remote,
  context: SourceContext,
  work: (opened: FolderContext) => Promise<Result>,
): Promise<Result> {
  const { options, limits, deadline } = context;
  const { hostname } = remote.url;
  const host = remote.protocol === 'file' ? remote.url.pathname : remote.url.host;
  return withRetries(async () => {
    const route = await findRoute(remote, hostname, context);
    const folder = await TemporaryRepository.create(options.temporaryFolder, {
      what: `the repository of ${host}`,
      maxBytes: limits.maxRepositoryBytes,
      everyMilliseconds: limits.repositoryCheckMilliseconds,
    });
    try {
      const settings = gitSettings({ ...remote, ...route }, folder.folder, context);
      const signal = AbortSignal.any([deadline.signal, folder.signal]);
      const run = { folder: folder.folder, limits, signal };
      const authorities = await findAuthorities({ ...run, environment: gitEnvironment(settings) }, options);
      const environment = gitEnvironment({ ...settings, authorities });
      return await work({
        repository: new RemoteRepository(remote.url, { ...run, environment }),
        limits,
        host,
      });
    } finally {
      await folder.remove();
    }
  }, context);
}

function gitSettings(remote: Remote, folder: string, { options, limits }: SourceContext): GitSettings {
  return {
    folder,
    userAgent: options.userAgent,
    limits,
    remote,
    programFolders: options.programFolders,
    sshAgentSocket: options.sshAgentSocket,
    user: options.userEnvironment,
    protocols: options.protocols.filter((name) => name !== 'file'),
  };
}

/** Returns the address that git may connect to, or the proxy that connects instead. */
async function findRoute(
  { url, protocol, port }: Remote,
  hostname: string,
  context: SourceContext,
): Promise<Pick<Remote, 'address' | 'proxy'>> {
  if (protocol === 'file') return {};
  const proxy = protocol === 'ssh' ? undefined : await context.options.proxy?.(url);
  if (proxy === undefined) return { address: await reachableAddress(hostname, port, context) };
  context.guard.checkProxied(hostname);
  return { proxy: proxy.url };
}

/** Returns SSL_CERT_FILE of the user, which some builds of git ignore, unless the git configuration names a file. */
async function findAuthorities(
  run: GitRun,
  { userEnvironment = {} }: SourceContext['options'],
): Promise<string | undefined> {
  const file = userEnvironment.SSL_CERT_FILE ?? '';
  if (file === '' || (userEnvironment.GIT_SSL_CAINFO ?? '') !== '') return undefined;
  const { ok } = await runGit(['config', '--get', 'http.sslCAInfo'], run);
  return ok ? undefined : file;
}

/** Asks the credential helpers of the user. Undefined if they know nothing. */
async function askHelpers(remote: Remote, context: SourceContext): Promise<SourceCredentials | undefined> {
  const { options, limits, deadline } = context;
  const folder = await TemporaryRepository.create(options.temporaryFolder, {
    what: `the repository of ${remote.url.host}`,
    maxBytes: limits.maxRepositoryBytes,
    everyMilliseconds: limits.repositoryCheckMilliseconds,
  });
  try {
    const environment = helperEnvironment(gitSettings(remote, folder.folder, context));
    // Helpers are programs of the user, some of which reserve much address space.
    const run = {
      environment,
      folder: folder.folder,
      limits: { ...limits, maxGitMemoryBytes: Number.POSITIVE_INFINITY },
      signal: deadline.signal,
    };
    const asked = `url=${remote.url.href}\n\n`;
    const { ok, output } = await runGit(['credential', 'fill'], run, undefined, asked);
    const said = new Map(
      output
        .toString('utf8')
        .split('\n')
        .map((line): [string, string] => [line.replace(/=.*$/s, ''), line.replace(/^[^=]*=/, '')]),
    );
    const [username, password] = [said.get('username'), said.get('password')];
    return ok && username !== undefined && password !== undefined ? { username, password } : undefined;
  } finally {
    await folder.remove();
  }
}

async function readCatalog(
  context: FolderContext,
  { path, ref }: GitAddress,
  { validators = {}, bundles, folder, onProgress }: FetchRequest,
): Promise<FetchedCatalog> {
  const { repository, limits } = context;
  await repository.checkVersion();
  if (folder?.releases === 'tags') {
    const fetched = await readReleaseTags(path, folder, validators, context);
    if (fetched.bytes !== undefined) onProgress?.(fetched.bytes.byteLength);
    return fetched;
  }
  const found = await repository.resolveRef(ref);
  const tags = folder === undefined ? [] : await findReleaseTags(ref, found.commit, context);
  const selection = folder === undefined ? {} : { ...selectionKey(folder), ...tagKey(tags) };
  const isSame = Object.entries({ selection: '', tags: '', ...selection }).every(
    ([name, value]) => (validators[name] ?? '') === value,
  );
  // The commit is known and had no bundles, so there are none now.
  if (isSame && found.commit === validators.commit && (!bundles || validators.bundles === '0')) {
    return { validators, bundles: [] };
  }
  const commit = await repository.fetch(found.ref, found.commit);
  const changed = !isSame || commit !== validators.commit;
  const isFolder = folder !== undefined && (await repository.isFolder(commit, path));
  const readBytes = () =>
    isFolder
      ? readFolder({ commit, path, tags }, folder, context)
      : repository.readFile(commit, path, limits.maxCatalogBytes);
  const bytes = changed ? await readBytes() : undefined;
  if (bytes !== undefined) onProgress?.(bytes.byteLength);
  const beside: Uint8Array[] = [];
  if (bundles && !isFolder) {
    for (const name of siblingBundleNames(path.split('/').at(-1)!)) {
      const sibling = path.replace(/[^/]*$/, name);
      const bundle = await repository.readFileIfExists(commit, sibling, limits.maxBundleBytes);
      if (bundle !== undefined) beside.push(bundle);
    }
  }
  return {
    ...defined({ bytes }),
    validators: {
      commit,
      ...selection,
      ...defined({ bundles: bundles ? String(beside.length) : undefined }),
    },
    bundles: beside,
  };
}

function parseRemote({ repository }: GitAddress, allowed: SourceContext['options']['protocols']): Remote {
  const url = parseUrl(repository);
  const protocol = (['https', 'http', 'ssh', 'file'] as const).find((name) => url?.protocol === `${name}:`);
  if (url === undefined || protocol === undefined) {
    throw new SourceFailure('forbidden-address', 'git repositories require an https or ssh URL');
  }
  if (!allowed.includes(protocol)) {
    throw new SourceFailure('forbidden-address', `git over ${protocol} is not allowed`, {
      hint: `Use an allowed protocol (${allowed.join(', ') || 'none'}), or ask the operator to allow ${protocol}.`,
    });
  }
  if (protocol === 'file') {
    if (url.host === '') return { url, protocol, port: 0 };
    throw new SourceFailure('forbidden-address', 'a file URL with a host is not supported', {
      hint: 'Use file:///PATH.',
    });
  }
  // curl does not apply the pinned address to a name with a trailing dot.
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  if (
    !HOST.test(url.hostname) ||
    (url.username !== '' && !/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(url.username))
  ) {
    throw new SourceFailure('forbidden-address', 'invalid host or user in the repository URL');
  }
  return { url, protocol, port: url.port === '' ? PORTS[protocol] : Number(url.port) };
}

/**
 * Returns an allowed address of a host that accepts connections on the port, for programs that cannot use the guard.
 * Rejects with SourceFailures only.
 */
async function reachableAddress(host: string, port: number, context: SourceContext): Promise<string> {
  const { guard, deadline, limits } = context;
  guard.checkHost(host);
  const socket = connect({ host: unbracketed(host), port, lookup: guard.lookup, autoSelectFamily: true });
  const timer = setTimeout(() => {
    socket.destroy(
      new SourceFailure(
        'too-slow',
        `${host} took longer than ${seconds(limits.connectMilliseconds)} to connect`,
        {
          hint: 'Check the port and the firewall.',
        },
      ),
    );
  }, limits.connectMilliseconds);
  try {
    const connected = new Promise<string>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('connect', () => resolve(socket.remoteAddress ?? ''));
    });
    return await deadline.race(connected);
  } catch (error) {
    throw networkFailure(`${host}:${port}`, error);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
