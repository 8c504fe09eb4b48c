import { sha256 } from '@krmhub/schema/digest';
import { printable } from '@krmhub/schema/network-reason';
import type { FetchedCatalog } from '../context.js';
import { SourceFailure } from '../failure.js';
import { FolderFiles, isReadFile } from '../folder-files.js';
import type { SourceLimits } from '../limits.js';
import { newestReleaseTags, type ReleaseTag, tagOfFile } from './release-tags.js';
import type { RemoteRepository } from './remote-repository.js';

export interface FolderContext {
  repository: RemoteRepository;
  limits: SourceLimits;
  /** For messages. */
  host: string;
}

/** Reads the YAML and JSON files below a folder of a fetched commit. A ref that names a release names theirs. */
export async function readFolder(
  { commit, path, ref }: { commit: string; path: string; ref?: string | undefined },
  context: FolderContext,
): Promise<Uint8Array> {
  const [tag] = newestReleaseTags(ref === undefined ? [] : [ref]);
  const files = new FolderFiles(folderName(path, context), context.limits);
  await addFiles(files, commit, path, () => ({ release: tag?.release }), context);
  return files.bytes();
}

/** Reads the files below a path at the newest release tag of each folder. Reads nothing if the tags are unchanged. */
export async function readReleaseTags(
  path: string,
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
  const state = sha256(tags.map(({ tag }) => `${tag} ${all.get(tag)}`).join('\n'));
  if (state === validators.tags) return { validators, bundles: [] };
  const isSha256 = all.get(tags[0]!.tag)!.length === 64;
  const refs = await repository.fetchTags(
    tags.map(({ tag }) => tag),
    isSha256 ? 'sha256' : 'sha1',
  );
  const files = new FolderFiles(folderName(path, context), limits);
  for (const [index, tag] of tags.entries()) {
    const isOwn = (file: string): ReleaseTag | undefined => {
      const found = tagOfFile(tags, file);
      return found === tag ? found : undefined;
    };
    await addFiles(files, refs[index]!, path, isOwn, context);
  }
  return { bytes: files.bytes(), validators: { tags: state }, bundles: [] };
}

/** Adds the files of one commit; `select` gives the release of a file, or nothing for a file that is not to be read. */
async function addFiles(
  files: FolderFiles,
  commit: string,
  path: string,
  select: (file: string) => { release?: string | undefined } | undefined,
  { repository }: FolderContext,
): Promise<void> {
  const listed = await repository.listFiles(commit, path);
  const wanted = listed.flatMap((file) => {
    const selected = isReadFile(file.path) ? select(file.path) : undefined;
    if (selected === undefined || !files.accepts(file.path, file.size, selected.release)) return [];
    return [{ file, release: selected.release }];
  });
  const contents = await repository.readFiles(wanted.map(({ file }) => file));
  for (const [index, { file, release }] of wanted.entries()) {
    files.add(file.path, contents[index]!, release);
  }
}

function folderName(path: string, { host }: FolderContext): string {
  return path === '' ? `the repository of ${host}` : `"${printable(path)}" of ${host}`;
}
