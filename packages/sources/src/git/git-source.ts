import type { SourceAddress } from '@krmhub/catalog';
import { parseUrl } from '@krmhub/schema/parse-url';
import { credentialsFor, type FetchedCatalog, type FetchRequest, type SourceContext } from '../context.js';
import { SourceFailure } from '../failure.js';
import { selectionKey } from '../folder-files.js';
import { reachableAddress } from '../reachable-address.js';
import { withRetries } from '../retry.js';
import { siblingBundleNames } from '../sibling-bundles.js';
import { gitEnvironment, type Remote } from './environment.js';
import { type FolderContext, readFolder, readReleaseTags, releaseTagsOf, tagKey } from './read-folder.js';
import { RemoteRepository } from './remote-repository.js';
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
  const { options, limits, deadline } = context;
  const remote = parseRemote(address, options.protocols);
  // ssh uses its own keys, and its URLs have no origin.
  const credentials =
    remote.protocol === 'ssh' ? undefined : await deadline.race(credentialsFor(remote.url.origin, options));
  const { host, hostname } = remote.url;
  return withRetries(async () => {
    const proxy = remote.protocol === 'ssh' ? undefined : await options.proxy?.(remote.url);
    if (proxy !== undefined) context.guard.checkProxied(hostname);
    const route =
      proxy === undefined
        ? { address: await reachableAddress(hostname, remote.port, context) }
        : { proxy: proxy.url };
    const folder = await TemporaryRepository.create(options.temporaryFolder, {
      what: `the repository of ${host}`,
      maxBytes: limits.maxRepositoryBytes,
      everyMilliseconds: limits.repositoryCheckMilliseconds,
    });
    try {
      const environment = gitEnvironment({
        folder: folder.folder,
        userAgent: options.userAgent,
        limits,
        remote: { ...remote, ...route, credentials },
        programFolders: options.programFolders,
        sshAgentSocket: options.sshAgentSocket,
      });
      const signal = AbortSignal.any([deadline.signal, folder.signal]);
      const run = { environment, folder: folder.folder, limits, signal };
      return await work({ repository: new RemoteRepository(remote.url, run), limits, host });
    } finally {
      await folder.remove();
    }
  }, context);
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
  const tags = folder === undefined ? [] : await releaseTagsOf(ref, found.commit, context);
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
    ...(bytes === undefined ? {} : { bytes }),
    validators: { commit, ...selection, ...(bundles ? { bundles: String(beside.length) } : {}) },
    bundles: beside,
  };
}

function parseRemote({ repository }: GitAddress, allowed: SourceContext['options']['protocols']): Remote {
  const url = parseUrl(repository);
  const protocol = (['https', 'http', 'ssh'] as const).find((name) => url?.protocol === `${name}:`);
  if (url === undefined || protocol === undefined) {
    throw new SourceFailure('forbidden-address', 'git repositories require an https or ssh URL');
  }
  if (!allowed.includes(protocol)) {
    throw new SourceFailure('forbidden-address', `git over ${protocol} is not allowed`, {
      hint: `Use an allowed protocol (${allowed.join(', ') || 'none'}), or ask the operator to allow ${protocol}.`,
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
