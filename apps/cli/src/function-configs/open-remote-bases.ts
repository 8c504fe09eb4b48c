import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { SourceAddress } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { field } from '@krmhub/schema/json/access';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { SourceFetcher } from '@krmhub/sources';
import { readYaml } from '@krmhub/yaml';
import type { Io } from '../io/io.js';
import type { FetchedRemote, ReadLayersOptions } from './layers.js';
import { isRemoteFile, parseRepositoryUrl, type RepositoryUrl } from './repository-url.js';

/** Remote bases and files of kustomizations, each fetched once to a temporary folder. */
export interface RemoteBases {
  /**
   * Fetches what a kustomization names by a URL: the folder of a base in its repository, or a file. Rejects with a
   * KrmhubError. `namedBy` is the URL of the remote base that names it.
   */
  fetch: NonNullable<ReadLayersOptions['fetchRemote']>;
  /** Removes everything that was fetched. */
  close(): Promise<void>;
}

/** URLs that cannot be those of a file: a part says which repository it is, or which ref of it. */
const REPOSITORY_MARK = /\.git(?:[/?]|$)|_git\/|^[^?]*[^:]\/\/|[?&](?:ref|version)=/;

/** Opens the remote bases of one run. Without a network (`offline`), every remote base is an error. */
export async function openRemoteBases(
  io: Io,
  { offline = false, temporaryFolder = tmpdir() }: { offline?: boolean; temporaryFolder?: string } = {},
): Promise<RemoteBases> {
  const fetched = new Map<string, Promise<FetchedRemote>>();
  let folder: Promise<string> | undefined;
  const fetch = async (url: string, namedBy: string | undefined, name: string): Promise<FetchedRemote> => {
    if (offline) {
      throw new KrmhubError('unavailable', 'remote bases are not cached, and network access is disabled', {
        hint: 'Copy the base to the package, or run the command without --offline and --frozen.',
      });
    }
    folder ??= mkdtemp(path.join(temporaryFolder, 'krmhub-bases-'));
    const { sourceFetcher } = await import('../registry/source-fetcher.js');
    const fetcher = sourceFetcher(io, { temporaryFolder: path.join(await folder, 'git') });
    return fetchRemote({ url, ...defined({ namedBy }) }, fetcher, path.join(await folder, name));
  };
  return {
    fetch: (url, namedBy) => {
      const key = JSON.stringify([url, namedBy]);
      const known = fetched.get(key) ?? fetch(url, namedBy, String(fetched.size));
      fetched.set(key, known);
      return known;
    },
    close: async () => {
      await Promise.allSettled(fetched.values());
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** As kustomize: a URL of the web is a file if its server has YAML there, else a repository. */
async function fetchRemote(
  { url, ...named }: { url: string; namedBy?: string },
  fetcher: SourceFetcher,
  target: string,
): Promise<FetchedRemote> {
  const repository = parseRepositoryUrl(url);
  if (isRemoteFile(url) && !(repository !== undefined && REPOSITORY_MARK.test(url))) {
    const bytes = await fetchFile({ url, ...named }, fetcher, repository !== undefined);
    if (bytes !== undefined) {
      const file = `${target}.yaml`;
      await writeFile(file, bytes, { flag: 'wx' });
      return { path: file };
    }
  }
  if (repository === undefined)
    throw new KrmhubError('usage', `${url} is not the URL of a file or repository`);
  await fetcher.fetchTree({ address: repositoryAddress(repository), folder: target, ...named });
  const folder = path.join(target, ...repository.path.split('/'));
  const status = await stat(folder).catch(() => undefined);
  if (status?.isDirectory() === true) return { path: folder, root: target };
  throw new KrmhubError('not-found', `the repository has no folder "${repository.path}"`, {
    hint: 'Check the path after the repository. Submodules, and links that leave the repository, are not followed.',
  });
}

/** Undefined if it is not a file of resources, but may be a repository. */
async function fetchFile(
  { url, ...named }: { url: string; namedBy?: string },
  fetcher: SourceFetcher,
  mayBeRepository: boolean,
): Promise<Uint8Array | undefined> {
  const address: SourceAddress = { type: 'http', url };
  try {
    const maxBytes = DOCUMENT_LIMITS.maxSourceBytes;
    const { bytes } = await fetcher.fetch({ address, bundles: false, maxBytes, ...named });
    if (bytes !== undefined && (!mayBeRepository || hasResources(bytes))) return bytes;
    return undefined;
  } catch (error) {
    if (mayBeRepository && error instanceof KrmhubError) return undefined;
    throw error;
  }
}

function hasResources(bytes: Uint8Array): boolean {
  const { documents, diagnostics } = readYaml(bytes, { file: '' });
  if (diagnostics.some(({ code }) => code === 'yaml/syntax') || documents.length === 0) return false;
  return documents.every(({ value }) => typeof field(value, 'kind') === 'string');
}

function repositoryAddress({
  repository,
  path: folder,
  ref,
}: RepositoryUrl): Extract<SourceAddress, { type: 'git' }> {
  return { type: 'git', repository, path: folder, ...defined({ ref }) };
}
