import path from 'node:path';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import type { JsonObject } from '@krmhub/schema/definition';
import { suggest } from '@krmhub/schema/suggest';
import { isBuiltin } from './config-documents.js';
import { COMPOSITION_FILES, existingFiles, type LayerFile, readLayerFile } from './kustomization-file.js';
import { catalogReferences, emptyLayer, isRelative, type LayerContext } from './layer-context.js';
import { findLocal, isInOrBelow, type ProblemPlace } from './layer-reader.js';
import type { Layer, LayerUse, ListedFunction } from './layers.js';
import { LAYER_LIMITS } from './limits.js';
import { listDocument } from './list-configs.js';
import { applyOverrides, checkNames, type Module, orderModules, readModules } from './modules.js';

/** Fields by their names in KEP-2906, and in KEP-2299, which introduces Compositions. */
const FIELDS = {
  modules: ['modules', 'transformers'],
  imports: ['modulesFrom', 'transformersFrom'],
  overrides: ['moduleOverrides', 'transformerOverrides'],
  order: ['moduleOrder', 'transformerOrder'],
} as const;
const ALL_FIELDS = [...Object.values(FIELDS).flat(), 'catalogs'];
const API_VERSION = 'kustomize.config.k8s.io/v1alpha1';

/**
 * A Composition with everything that it imports: the modules in order, and the catalogs in the order in which they are
 * searched.
 */
interface Consolidated {
  modules: Module[];
  catalogs: CatalogReference[];
}

/**
 * Reads a Composition. The modules of its imports and its own become one list, and so do the catalogs: those of the
 * Composition come first, because the first definition of a module is used (KEP-2906, "Determining the Function to
 * Execute").
 */
export async function readComposition(
  context: LayerContext,
  { folder, file }: { folder: string; file: string },
  use: LayerUse,
): Promise<Layer | undefined> {
  const { reader } = context;
  const found = await consolidate(context, file, []);
  if (found === undefined) return undefined;
  const layer = emptyLayer(context, { folder, file, type: 'composition', use });
  layer.catalogs = found.catalogs;
  layer.modules = found.modules.map(({ value }) => value);
  layer.functions = found.modules.flatMap(({ value, written }, module): ListedFunction[] => {
    if (isBuiltin(value)) return [];
    const use = { layer: folder, catalogs: found.catalogs, field: 'modules' } as const;
    // The position is where the module is written, its value what the overrides made of it.
    const document = { value, index: written.document, locate: () => written.place.range };
    const listed = listDocument(reader, document, { file: written.place.file, inline: false }, use);
    return listed.map((one) => ({ ...one, path: written.path, module }));
  });
  return layer;
}

async function consolidate(
  context: LayerContext,
  file: string,
  importers: readonly string[],
): Promise<Consolidated | undefined> {
  const { reader } = context;
  const read = await readLayerFile(reader, file, ALL_FIELDS);
  if (read === undefined || !isComposition(context, read)) return undefined;
  reportUnknown(context, read);
  const folder = path.dirname(file);
  const names = {
    modules: fieldName(context, read, 'modules'),
    imports: fieldName(context, read, 'imports'),
    overrides: fieldName(context, read, 'overrides'),
    order: fieldName(context, read, 'order'),
  };
  const before: Module[] = [];
  const after: Module[] = [];
  const catalogs = catalogReferences(context, folder, read.texts('catalogs'));
  for (const one of readImports(context, read, names.imports)) {
    const target = await findImport(context, folder, one);
    if (target === undefined) continue;
    const chain = [...importers, file];
    if (!isAllowed(context, chain, target, one.place)) continue;
    const imported = await consolidate(context, target, chain);
    if (imported === undefined) continue;
    (one.mode === 'append' ? after : before).push(...imported.modules);
    catalogs.push(...imported.catalogs);
  }
  applyOverrides(reader, read, names.overrides, [...before, ...after]);
  const own = await readModules(reader, read, names.modules, folder);
  const modules = [...before, ...own, ...after];
  checkNames(reader, modules);
  return { modules: orderModules(reader, read, names.order, modules), catalogs: unique(catalogs) };
}

function isComposition({ reader }: LayerContext, read: LayerFile): boolean {
  const kind = read.text('kind');
  const apiVersion = read.text('apiVersion');
  if (kind === 'Composition' && (apiVersion === undefined || apiVersion === API_VERSION)) return true;
  const what = kind === 'Composition' ? `apiVersion is ${apiVersion}` : `kind is ${kind ?? 'missing'}`;
  const hint = `Use \`kind: Composition\`, and \`apiVersion: ${API_VERSION}\` or no apiVersion.`;
  const at = kind === 'Composition' ? ['apiVersion'] : ['kind'];
  reader.report('config/kind', `the ${what}, expected a Composition`, read.place(at), hint);
  return false;
}

/** kustomize reads no Composition, so that a misspelled field would have no effect without a word. */
function reportUnknown({ reader }: LayerContext, read: LayerFile): void {
  const known = [...ALL_FIELDS, 'apiVersion', 'kind', 'metadata'];
  for (const name of read.unknownFields()) {
    const near = suggest(name, known);
    const hint = near === undefined ? `Use ${known.join(', ')}.` : `Did you mean ${near}?`;
    reader.report(
      'config/composition-field',
      `a Composition has no field \`${name}\``,
      read.place([name], 'key'),
      hint,
    );
  }
}

/** The name under which a field is written; reports both names in one file. */
function fieldName({ reader }: LayerContext, read: LayerFile, field: keyof typeof FIELDS): string {
  const written = FIELDS[field].filter((name) => read.field(name) !== undefined);
  const [first = FIELDS[field][0], second] = written;
  if (second !== undefined) {
    const message = `\`${second}\` and \`${first}\` are the same field`;
    reader.report('config/duplicate-field', message, read.place([second]));
  }
  return first;
}

interface Import {
  path: string;
  mode: 'prepend' | 'append';
  place: ProblemPlace;
}

function readImports({ reader }: LayerContext, read: LayerFile, name: string): Import[] {
  return read.items(name).flatMap(({ value, at }): Import[] => {
    const place = read.place(at);
    const item = value as JsonObject | null;
    const target = typeof item === 'object' ? item?.path : undefined;
    const mode = (typeof item === 'object' ? item?.importMode : undefined) ?? 'prepend';
    const unknown = Object.keys(item ?? {}).filter((key) => key !== 'path' && key !== 'importMode');
    if (typeof target !== 'string' || target === '' || unknown.length > 0) {
      reader.report('config/import-path', 'the import is not a mapping with `path`', place);
      return [];
    }
    if (mode === 'prepend' || mode === 'append') return [{ path: target, mode, place }];
    reader.report('config/import-path', '`importMode` is neither prepend nor append', place);
    return [];
  });
}

/** A Composition may import one of another folder: that is what imports are for. */
async function findImport(
  { reader, clone, remote }: LayerContext,
  folder: string,
  { path: text, place }: Import,
): Promise<string | undefined> {
  const local = await findLocal(folder, text);
  if (local.type === 'missing') {
    reader.report('config/not-found', `cannot read ${text}: ${local.reason}`, place);
    return undefined;
  }
  if (clone !== undefined && !isInOrBelow(local.path, clone.root)) {
    reader.report('config/outside', `the import is outside the repository of ${remote}`, place);
    return undefined;
  }
  if (local.type !== 'folder') return local.path;
  const [file] = await existingFiles(local.path, COMPOSITION_FILES);
  if (file !== undefined) return file;
  reader.report('config/not-found', `${text} has no ${COMPOSITION_FILES[0]}`, place);
  return undefined;
}

function isAllowed(
  { reader }: LayerContext,
  chain: readonly string[],
  target: string,
  place: ProblemPlace,
): boolean {
  const circle = chain.indexOf(target);
  if (circle >= 0) {
    const names = [...chain.slice(circle), target].map((one) => reader.displayName(one));
    reader.report('config/circle', `the imports form a cycle: ${names.join(' → ')}`, place);
    return false;
  }
  if (chain.length <= LAYER_LIMITS.maxLayerDepth) return reader.countLayer(place);
  const message = `the imports are nested too deeply; the limit is ${LAYER_LIMITS.maxLayerDepth}`;
  reader.report('config/limit', message, place);
  return false;
}

function unique(catalogs: readonly CatalogReference[]): CatalogReference[] {
  const key = ({ text, folder }: CatalogReference) =>
    isRelative(text) ? JSON.stringify([text, folder]) : text;
  return [...new Map(catalogs.toReversed().map((one) => [key(one), one])).values()].reverse();
}
