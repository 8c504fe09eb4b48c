import path from 'node:path';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import { defined } from '@krmhub/schema/defined';
import type { EntryText } from './kustomization-file.js';
import { isInOrBelow, type LayerReader, type ProblemPlace } from './layer-reader.js';
import type { Layer } from './layers.js';
import { LAYER_LIMITS } from './limits.js';
import { parseRepositoryUrl, type RepositoryUrl } from './repository-url.js';

/** A repository that was fetched for a remote base: nothing in it may leave it. */
interface Clone {
  root: string;
  url: RepositoryUrl;
}

/** Where a layer is in its package. */
export interface LayerContext {
  reader: LayerReader;
  /** Folders of the layers above, the outermost first. */
  ancestors: readonly string[];
  /** URL of the remote base. */
  remote?: string;
  clone?: Clone;
  /** What names the layer; absent for the package itself. */
  place?: ProblemPlace;
}

/** The context of a layer that another one names; undefined where a problem is reported. */
export function contextBelow(
  context: LayerContext,
  folder: string,
  target: string,
  place: ProblemPlace,
): LayerContext | undefined {
  const { reader, clone } = context;
  const ancestors = [...context.ancestors, folder];
  // As kustomize: a folder above one that is being built is a circle too.
  const circle = ancestors.findIndex((one) => isInOrBelow(one, target));
  if (circle >= 0) {
    const names = [...ancestors.slice(circle), target].map((one) => reader.displayName(one));
    reader.report('config/circle', `the bases form a cycle: ${names.join(' → ')}`, place);
    return undefined;
  }
  if (clone !== undefined && !isInOrBelow(target, clone.root)) {
    reader.report('config/outside', `the base is outside the repository of ${context.remote}`, place);
    return undefined;
  }
  if (ancestors.length > LAYER_LIMITS.maxLayerDepth) {
    const message = `the bases are nested too deeply; the limit is ${LAYER_LIMITS.maxLayerDepth}`;
    reader.report('config/limit', message, place);
    return undefined;
  }
  return { ...context, ancestors, place };
}

/** The context of a remote base whose repository was fetched to `root`, which has no links. */
export function remoteContext(context: LayerContext, url: string, root: string | undefined): LayerContext {
  const repository = parseRepositoryUrl(url);
  const { clone: _, ...rest } = context;
  if (repository === undefined || root === undefined) return { ...rest, remote: url };
  context.reader.addRemote(root, (inside) => addressInside(repository, inside));
  return { ...rest, remote: url, clone: { root, url: repository } };
}

/** The address of a file or folder in a repository. */
function addressInside({ repository, ref }: RepositoryUrl, inside: string): string {
  return `${repository}//${inside}${ref === undefined ? '' : `?ref=${ref}`}`;
}

/**
 * The catalogs that a layer names. A relative path in a remote base becomes the address of that file in its repository,
 * because the folder of the clone means nothing to the user, who decides whether to trust it.
 */
export function catalogReferences(
  context: LayerContext,
  folder: string,
  entries: readonly EntryText[],
): CatalogReference[] {
  const { reader, clone, remote } = context;
  const host = namingHost(context);
  const named = host === undefined ? {} : { namedBy: host };
  return entries.flatMap(({ text, place, range }): CatalogReference[] => {
    const at = {
      file: reader.displayName(place.file),
      line: range?.start.line ?? 1,
      column: range?.start.column ?? 1,
    };
    if (remote === undefined || /^(?:[a-z][a-z0-9+.-]*:\/\/|git::)/i.test(text))
      return [{ text, folder, at, ...named }];
    const file = path.resolve(folder, text.replace(/^file:/, ''));
    if (clone === undefined || !isInOrBelow(file, clone.root)) {
      reader.report('config/outside', `the catalog ${text} is outside the repository of ${remote}`, place);
      return [];
    }
    const inside = path.relative(clone.root, file).split(path.sep).join('/');
    return [{ text: `git::${addressInside(clone.url, inside)}`, folder, at, ...named }];
  });
}

/** The URL of the remote base that a layer is in; undefined for a layer on this machine. */
export function namingHost({ clone, remote }: LayerContext): string | undefined {
  const url = clone?.url.repository ?? remote;
  return url?.startsWith('file:') === true ? undefined : url;
}

/** Reports whether a reference of a catalog is a file, and so relative to the folder of what names it. */
export function isRelative(text: string): boolean {
  return !/^(?:[a-z][a-z0-9+.-]*:\/\/|git::)/i.test(text);
}

/** A layer without functions yet. */
export function emptyLayer(
  { remote }: LayerContext,
  named: Pick<Layer, 'folder' | 'file' | 'type' | 'use'>,
): Layer {
  const lists = { catalogs: [], functions: [], layers: [], resources: [] };
  return { ...named, ...defined({ remote }), ...lists };
}
