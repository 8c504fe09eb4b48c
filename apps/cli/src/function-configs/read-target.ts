import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import type { EntryText } from './kustomization-file.js';
import { contextBelow, type LayerContext, namingHost, remoteContext } from './layer-context.js';
import { findLocal } from './layer-reader.js';
import { isRemoteFile, parseRepositoryUrl } from './repository-url.js';

/** What an entry names. The context is that of a layer in it. */
export type Target = { type: 'file'; path: string } | { type: 'folder'; path: string; context: LayerContext };

/**
 * Finds what an entry of a kustomization names, as kustomize does: a file, else a repository if it looks like the URL
 * of one, else a folder. Undefined where a problem is reported.
 */
export async function readTarget(
  context: LayerContext,
  folder: string,
  entry: EntryText,
  { allowFile }: { allowFile: boolean },
): Promise<Target | undefined> {
  const { reader } = context;
  const { text, place } = entry;
  const isRepository = parseRepositoryUrl(text) !== undefined;
  if (allowFile && isRemoteFile(text)) return readRemote(context, folder, entry);
  const local = await findLocal(folder, text);
  if (allowFile && local.type === 'file') return { type: 'file', path: local.path };
  if (isRepository) return readRemote(context, folder, entry);
  const isAllowed = reader.options.anyFile === true && context.clone === undefined;
  if (allowFile && isAllowed && local.type === 'outside') return { type: 'file', path: local.path };
  if (local.type === 'outside') {
    const message = `the file ${text} is outside ${reader.displayName(folder)}`;
    reader.report('config/outside', message, place);
    return undefined;
  }
  if (local.type === 'missing') {
    reader.report('config/not-found', `cannot read ${text}: ${local.reason}`, place, missingHint(context));
    return undefined;
  }
  if (local.type === 'file') {
    reader.report('config/kind', `${text} is a file, expected a folder`, place);
    return undefined;
  }
  if (path.isAbsolute(text)) {
    const hint = 'Use a path relative to the folder of the kustomization.';
    reader.report('config/outside', `the path of the base ${text} is absolute`, place, hint);
    return undefined;
  }
  const below = contextBelow(context, folder, local.path, place);
  return below === undefined ? undefined : { type: 'folder', path: local.path, context: below };
}

function missingHint({ clone }: LayerContext): string | undefined {
  if (clone === undefined) return undefined;
  return 'Correct the path. Submodules, and links that leave the repository, are not followed.';
}

async function readRemote(
  context: LayerContext,
  folder: string,
  { text, place }: EntryText,
): Promise<Target | undefined> {
  const { reader } = context;
  const { fetchRemote } = reader.options;
  if (fetchRemote === undefined) {
    reader.report('config/remote', `the remote base ${text} could not be read`, place);
    return undefined;
  }
  let fetched: string;
  let root: string | undefined;
  let isFile: boolean;
  try {
    const remote = await fetchRemote(text, namingHost(context));
    fetched = await realpath(remote.path);
    root = remote.root === undefined ? undefined : await realpath(remote.root);
    isFile = (await stat(fetched)).isFile();
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    reader.report('config/remote', `cannot read ${text}: ${error.message}`, place, error.hint);
    return undefined;
  }
  if (isFile) {
    reader.addRemote(fetched, () => text);
    return { type: 'file', path: fetched };
  }
  const below = contextBelow(remoteContext(context, text, root), folder, fetched, place);
  return below === undefined ? undefined : { type: 'folder', path: fetched, context: below };
}
