import { sha256 } from '@krmhub/schema/digest';
import { printable } from '@krmhub/schema/network-reason';
import type { FetchedCatalog, FolderRequest } from '../context.js';
import { SourceFailure } from '../failure.js';
import { chooseFiles, FolderFiles, joinPaths, selectionKey } from '../folder-files.js';
import type { SourceLimits } from '../limits.js';
import { newestReleaseTags, type ReleaseTag, tagOfFile } from './release-tags.js';
import type { ListedFile, RemoteRepository } from './remote-repository.js';

export interface FolderContext {
  repository: RemoteRepository;
  limits: SourceLimits;
  /** For messages. */
  host: string;
}

/**
 * Returns the release tags that a ref is, or that name the same commit. A commit that is not a release has none. Too many
 * tags to list are none, because a branch does not need them.
 */
export async function findReleaseTags(
  ref: string | undefined,
  commit: string,
  { repository }: FolderContext,
): Promise<ReleaseTag[]> {
  const named = newestReleaseTags(ref === undefined ? [] : [ref.replace(/^refs\/(?:tags|heads)\//, '')]);
  if (named.length > 0) return named;
  const all = await repository.listTags().catch((error: unknown) => {
    if (error instanceof SourceFailure && error.problem === 'too-large') return new Map<string, string>();
    throw error;
  });
  return newestReleaseTags([...all].flatMap(([tag, object]) => (object === commit ? tag : [])));
}

/** Identifies release tags, so that a tag which comes after a sync is noticed. */
export function tagKey(tags: readonly ReleaseTag[]): Record<string, string> {
  return tags.length === 0 ? {} : { tags: sha256(tags.map(({ tag }) => tag).join('\n')) };
}

/** Reads the YAML and JSON files below a folder of a fetched commit, with the releases of its tags. */
export async function readFolder(
  { commit, path, tags }: { commit: string; path: string; tags: readonly ReleaseTag[] },
  request: FolderRequest,
  context: FolderContext,
): Promise<Uint8Array> {
  const { repository, limits } = context;
  const files = new FolderFiles(folderName(path, context), limits);
  const listed: ListedFile[] = [];
  for (const below of joinPaths(path, request)) {
    const found = await repository.listFiles(commit, [below]);
    if (found.length === 0 && request.paths !== undefined) {
      throw new SourceFailure('not-found', `${folderName(below, context)} has no files`, {
        hint: 'Correct `paths`: they are relative to the folder in the URL.',
      });
    }
    listed.push(...found);
  }
  const wanted = chooseFiles(listed, request);
  // A branch such as releases/v1.2 is not a folder of the repository.
  const isOfFolders = wanted.some((file) => tagOfFile(tags, file.path) !== undefined);
  const fileRelease = (file: string) =>
    isOfFolders ? tagOfFile(tags, file)?.release : tags.length === 1 ? tags[0]!.release : undefined;
  await addFiles(
    files,
    wanted.map((file) => ({ file, release: fileRelease(file.path) })),
    context,
  );
  return files.bytes();
}

/**
 * Reads the files below a path at the newest release tag of each folder, and marks those that the newest commit does not
 * have. Reads nothing if the tags and that commit are unchanged.
 */
export async function readReleaseTags(
  path: string,
  request: FolderRequest,
  validators: Record<string, string>,
  context: FolderContext,
): Promise<FetchedCatalog> {
  const { repository, limits, host } = context;
  const all = await repository.listTags();
  const tags = newestReleaseTags(all.keys());
  if (tags.length === 0) {
    throw new SourceFailure('not-found', `${host} has no release tags in this repository`, {
      hint: 'Create tags such as v1.2.3 or set-labels/v1.2.3, or remove `releases: tags`.',
    });
  }
  if (tags.length > limits.maxReleaseTags) {
    const message = `the repository of ${host} has release tags of ${tags.length} folders; the limit is ${limits.maxReleaseTags}`;
    throw new SourceFailure('too-large', message, {
      hint: 'Use a branch in the URL instead, for example ?ref=main.',
    });
  }
  const head = await repository.resolveRef(undefined);
  const named = tags.map(({ tag }) => `${tag} ${all.get(tag)}`).join('\n');
  const state = { tags: sha256(`${named}\n${head.commit}`), ...selectionKey(request) };
  if (
    Object.entries({ selection: '', ...state }).every(([name, value]) => (validators[name] ?? '') === value)
  )
    return { validators, bundles: [] };
  const isSha256 = head.commit.length === 64;
  const refs = await repository.fetchTags(
    tags.map(({ tag }) => tag),
    { ...head, format: isSha256 ? 'sha256' : 'sha1' },
  );
  const paths = joinPaths(path, request);
  const current = await repository.listFiles(refs.head, paths);
  const kept = new Set(chooseFiles(current, request).map((file) => functionFolder(file.path)));
  const files = new FolderFiles(folderName(path, context), limits);
  const wanted: WantedFile[] = [];
  for (const [index, tag] of tags.entries()) {
    const listed = await repository.listFiles(refs.tags[index]!, paths);
    const own = listed.filter((file) => tagOfFile(tags, file.path) === tag);
    for (const file of chooseFiles(own, request)) {
      wanted.push({ file, release: tag.release, isRemoved: !kept.has(functionFolder(file.path)) });
    }
  }
  await addFiles(files, wanted, context);
  return { bytes: files.bytes(), validators: state, bundles: [] };
}

/** The name of the folder that a file is in: a function can move between folders. */
function functionFolder(path: string): string {
  return path.split('/').at(-2) ?? '';
}

interface WantedFile {
  file: ListedFile;
  release?: string | undefined;
  /** Whether the newest commit does not have it. */
  isRemoved?: boolean;
}

/** Fetches and adds files, in one request for all of them. */
async function addFiles(
  files: FolderFiles,
  wanted: readonly WantedFile[],
  { repository }: FolderContext,
): Promise<void> {
  files.checkCount(wanted.length);
  const fetched = await repository.fetchFiles(wanted.map(({ file }) => file));
  const accepted = wanted.flatMap((one, index) => {
    const file = fetched[index]!;
    return files.accepts(file.path, file.size, one.release) ? [{ ...one, file }] : [];
  });
  const contents = await repository.readFiles(accepted.map(({ file }) => file));
  for (const [index, { file, release, isRemoved }] of accepted.entries()) {
    files.add(file.path, contents[index]!, release, isRemoved);
  }
}

function folderName(path: string, { host }: FolderContext): string {
  return path === '' ? `the repository of ${host}` : `"${printable(path)}" of ${host}`;
}
