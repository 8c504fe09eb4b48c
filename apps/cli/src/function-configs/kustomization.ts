import { readComposition } from './composition.js';
import {
  COMPOSITION_FILES,
  type EntryText,
  existingFiles,
  KUSTOMIZATION_FILES,
  type LayerFile,
  readLayerFile,
} from './kustomization-file.js';
import { catalogReferences, emptyLayer, type LayerContext } from './layer-context.js';
import { findLocal } from './layer-reader.js';
import type { Layer, LayerUse } from './layers.js';
import { readEntries } from './read-entries.js';
import { readTarget } from './read-target.js';

/** Fields that name files, bases and functions, and those that decide what they mean. */
const FIELDS = [
  'resources',
  'bases',
  'components',
  'generators',
  'transformers',
  'validators',
  'catalogs',
] as const;
/** Lists of functionConfigs, in the order in which kustomize runs them. */
const FUNCTION_LISTS = ['generators', 'transformers', 'validators'] as const;

const KINDS = { kustomization: 'Kustomization', component: 'Component' } as const;

/**
 * Reads a kustomization, with the bases, components and kustomizations of functionConfigs that it names (kustomize,
 * `KustTarget`). Undefined where the file itself cannot be read.
 */
export async function readKustomization(
  context: LayerContext,
  { folder, file }: { folder: string; file: string },
  use: LayerUse,
): Promise<Layer | undefined> {
  const { reader } = context;
  const read = await readLayerFile(reader, file, FIELDS);
  if (read === undefined) return undefined;
  const type = layerType(read, context, use);
  if (type === undefined) return undefined;
  const layer = emptyLayer(context, { folder, file, type, use });
  layer.catalogs = catalogReferences(context, folder, read.texts('catalogs'));
  for (const entry of [...read.texts('resources'), ...read.texts('bases')]) {
    await addBase(layer, context, entry, 'base');
  }
  await addFunctions(layer, context, read, ['generators']);
  for (const entry of read.texts('components')) await addBase(layer, context, entry, 'component');
  await addFunctions(layer, context, read, FUNCTION_LISTS.slice(1));
  return layer;
}

function layerType(
  read: LayerFile,
  { reader, place }: LayerContext,
  use: LayerUse,
): 'kustomization' | 'component' | undefined {
  const kind = read.text('kind') ?? KINDS.kustomization;
  const type =
    kind === KINDS.component ? 'component' : kind === KINDS.kustomization ? 'kustomization' : undefined;
  if (type === undefined) {
    reader.report(
      'config/kind',
      `the kind is ${kind}, expected Kustomization or Component`,
      read.place(['kind']),
    );
    return undefined;
  }
  const wanted = use === 'component' ? 'component' : 'kustomization';
  if (use === 'package' || type === wanted) return type;
  const message = `${reader.displayName(read.file)} is a ${KINDS[type]}, expected a ${KINDS[wanted]}`;
  reader.report('config/kind', message, place ?? read.place(['kind']));
  return undefined;
}

/** Files that `resources` names contain no functions: kustomize does not run what is in them. */
async function addBase(
  layer: Layer,
  context: LayerContext,
  entry: EntryText,
  use: 'base' | 'component',
): Promise<void> {
  const target = await readTarget(context, layer.folder, entry, { allowFile: use === 'base' });
  if (target?.type === 'file') layer.resources.push(target.path);
  if (target?.type !== 'folder') return;
  const below = await readFolder(target.context, target.path, use);
  if (below !== undefined) layer.layers.push(below);
}

async function addFunctions(
  layer: Layer,
  context: LayerContext,
  read: LayerFile,
  lists: readonly (typeof FUNCTION_LISTS)[number][],
): Promise<void> {
  for (const field of lists) {
    const use = { layer: layer.folder, catalogs: layer.catalogs, field };
    const found = await readEntries(context, read, layer.folder, use, (below, folder) =>
      readFolder(below, folder, 'configs'),
    );
    layer.functions.push(...found.functions);
    layer.layers.push(...found.layers);
  }
}

/** Reads the kustomization or Composition of a folder; undefined where a problem is reported. */
export async function readFolder(
  context: LayerContext,
  folder: string,
  use: LayerUse,
): Promise<Layer | undefined> {
  const { reader, place = { file: folder } } = context;
  if (!reader.countLayer(place)) return undefined;
  const files = await existingFiles(folder, KUSTOMIZATION_FILES);
  const compositions = await existingFiles(folder, COMPOSITION_FILES);
  const [file, ...others] = [...files, ...compositions];
  const local = file === undefined ? await findLocal(folder, KUSTOMIZATION_FILES[0]) : undefined;
  if (local?.type === 'missing' && local.isDenied === true) {
    const hint = 'Let your user read the folder and its files.';
    reader.report(
      'config/not-found',
      `cannot read ${reader.displayName(folder)}: ${local.reason}`,
      place,
      hint,
    );
    return undefined;
  }
  if (file === undefined || others.length > 0) {
    const found = file === undefined ? 'no kustomization' : 'several kustomizations or Compositions';
    reader.report('config/no-kustomization', `${reader.displayName(folder)} has ${found}`, place);
    return undefined;
  }
  if (files.length === 1) return readKustomization(context, { folder, file }, use);
  return readComposition(context, { folder, file }, use);
}
