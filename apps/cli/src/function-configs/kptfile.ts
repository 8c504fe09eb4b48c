import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { type InlineRuntime, imageRuntime } from '@krmhub/functions/plan/declared-runtime';
import type { JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { field, isObject } from '@krmhub/schema/json/access';
import type { CatalogReference } from '../resolve/resolution.js';
import { type EntryText, KPTFILE, type LayerFile, readLayerFile } from './kustomization-file.js';
import { catalogReferences, emptyLayer, type LayerContext } from './layer-context.js';
import { findLocal, type LayerReader, type ProblemPlace } from './layer-reader.js';
import type { Layer, LayerUse, ListedFunction } from './layers.js';
import { LAYER_LIMITS } from './limits.js';
import { type ConfigUse, listConfigs } from './list-configs.js';

/** In the metadata of a Kptfile: references of catalogs, one per line. kpt itself has no field for them. */
export const CATALOGS_ANNOTATION = 'krmhub.dev/catalogs';
const LISTS = ['mutators', 'validators'] as const;
const SKIPPED_FOLDERS = new Set(['node_modules', '.git']);

/**
 * Reads the pipeline of a Kptfile and of the packages below it, in the order in which kpt runs them: subpackages first.
 * A functionConfig names a runtime there only with the field of KEP-2906.
 */
export async function readKptfile(
  context: LayerContext,
  folder: string,
  use: LayerUse = 'package',
): Promise<Layer | undefined> {
  const { reader } = context;
  const file = path.join(folder, KPTFILE);
  if (!reader.countLayer({ file })) return undefined;
  const read = await readLayerFile(reader, file, ['pipeline']);
  if (read === undefined) return undefined;
  const kind = read.text('kind');
  if (kind !== 'Kptfile') {
    reader.report('layer/kind', `the kind is ${kind ?? 'missing'}, expected Kptfile`, read.place(['kind']));
    return undefined;
  }
  const layer = emptyLayer(context, { folder, file, type: 'kptfile', use });
  layer.catalogs = annotatedCatalogs(context, read, folder);
  for (const list of LISTS) layer.functions.push(...(await readPipeline(context, read, layer, list)));
  for (const below of await subpackages(reader, folder)) {
    const sub = await readKptfile(context, below, 'subpackage');
    if (sub !== undefined) layer.layers.push(sub);
  }
  return layer;
}

function annotatedCatalogs(context: LayerContext, read: LayerFile, folder: string): CatalogReference[] {
  const value = field(field(read.value.metadata, 'annotations'), CATALOGS_ANNOTATION);
  if (value === undefined || value === null) return [];
  const place = read.place(['metadata', 'annotations', CATALOGS_ANNOTATION]);
  if (typeof value !== 'string') {
    context.reader.report('layer/wrong-type', `the annotation ${CATALOGS_ANNOTATION} is not a string`, place);
    return [];
  }
  const lines = value.split('\n').map((line) => line.trim());
  const entries = lines.flatMap((text, index): EntryText[] =>
    text === '' ? [] : [{ index, text, place, range: place.range }],
  );
  return catalogReferences(context, folder, entries);
}

async function readPipeline(
  { reader }: LayerContext,
  read: LayerFile,
  layer: Layer,
  list: (typeof LISTS)[number],
): Promise<ListedFunction[]> {
  const items = field(field(read.value, 'pipeline'), list) ?? [];
  if (!Array.isArray(items)) {
    reader.report('layer/wrong-type', `\`${list}\` is not a list`, read.place(['pipeline', list]));
    return [];
  }
  const functions: ListedFunction[] = [];
  for (const [index, item] of items.entries()) {
    const at: Path = ['pipeline', list, index];
    const step = readStep(item);
    if (typeof step === 'string') {
      reader.report('layer/pipeline', step, read.place(at));
      continue;
    }
    const { configPath } = step;
    const use = { layer: layer.folder, catalogs: layer.catalogs, field: list };
    const entry = { index, text: configPath ?? '' };
    const found =
      configPath === undefined
        ? stepWithoutFile(reader, read, at, step, { ...use, entry })
        : await readConfigFile(reader, configPath, read.place([...at, 'configPath']), { ...use, entry });
    if (found === undefined) continue;
    functions.push({ ...found, ...(step.written === undefined ? {} : { written: step.written }) });
  }
  return functions;
}

interface Step {
  configPath?: string;
  name?: string;
  /** What the Kptfile runs now; kpt requires it, but `kpt sync` fills it in. */
  written?: InlineRuntime;
}

/** An entry of the pipeline, or what is wrong with it. */
function readStep(item: JsonValue): Step | string {
  if (!isObject(item)) return 'the entry is not a mapping';
  const { configPath, configMap, image, exec, name } = item;
  if (image !== undefined && exec !== undefined) return 'the entry has both `image` and `exec`';
  if (configPath !== undefined && configMap !== undefined)
    return 'the entry has both `configPath` and `configMap`';
  for (const [field, value] of Object.entries({ configPath, image, exec })) {
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      return `\`${field}\` is not a string`;
  }
  const written: InlineRuntime | undefined =
    typeof image === 'string'
      ? imageRuntime(image)
      : typeof exec === 'string'
        ? { type: 'exec', path: exec, args: [], envs: [] }
        : undefined;
  return {
    ...(typeof configPath === 'string' ? { configPath } : {}),
    ...(typeof name === 'string' ? { name } : {}),
    ...(written === undefined ? {} : { written }),
  };
}

/** A function whose configuration is a ConfigMap in the Kptfile, or nothing: no catalog can know what it is. */
function stepWithoutFile(
  reader: LayerReader,
  read: LayerFile,
  at: Path,
  { name, written }: Step,
  { catalogs, ...use }: Required<Omit<ConfigUse, 'ignoresAnnotations'>>,
): ListedFunction | undefined {
  const place = read.place(at);
  if (!reader.countFunction(place)) return undefined;
  const request = { apiVersion: 'v1', kind: 'ConfigMap', catalogs };
  return {
    request: written === undefined ? request : { ...request, inline: written },
    ...(name === undefined ? {} : { name }),
    file: read.file,
    line: place.range?.start.line ?? 1,
    column: place.range?.start.column ?? 1,
    document: read.document.index,
    path: at,
    inline: false,
    ...use,
  };
}

async function readConfigFile(
  reader: LayerReader,
  configPath: string,
  place: ProblemPlace,
  use: ConfigUse & { layer: string },
): Promise<ListedFunction | undefined> {
  const local = await findLocal(use.layer, configPath);
  if (local.type !== 'file') {
    const reasons = { folder: 'it is a folder', outside: 'it is outside the package' };
    const reason = local.type === 'missing' ? local.reason : reasons[local.type];
    const code = local.type === 'outside' ? 'layer/outside' : 'layer/not-found';
    reader.report(code, `cannot read ${configPath}: ${reason}`, place);
    return undefined;
  }
  const bytes = await reader.readFile(local.path);
  if (bytes === undefined) return undefined;
  const listed = listConfigs(reader, { bytes, file: local.path }, { ...use, ignoresAnnotations: true });
  if (listed.length > 1) {
    const message = `${configPath} has ${listed.length} functionConfigs, expected one`;
    reader.report('layer/pipeline', message, place, 'Move each functionConfig to a separate file.');
  }
  return listed[0];
}

/** The nearest folders below that have a Kptfile, by name. Links are not followed, as in kpt. */
async function subpackages(reader: LayerReader, folder: string, depth = 0): Promise<string[]> {
  if (depth > LAYER_LIMITS.maxLayerDepth) {
    reader.report('layer/limit', `more than ${LAYER_LIMITS.maxLayerDepth} nested folders`, { file: folder });
    return [];
  }
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true });
  const found: string[] = [];
  for (const { name } of entries
    .filter((one) => one.isDirectory())
    .sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (SKIPPED_FOLDERS.has(name)) continue;
    const below = path.join(folder, name);
    if ((await findLocal(below, KPTFILE)).type === 'file') found.push(below);
    else found.push(...(await subpackages(reader, below, depth + 1)));
  }
  return found;
}
