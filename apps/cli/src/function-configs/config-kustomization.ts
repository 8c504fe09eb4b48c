import { RUNTIME_ANNOTATIONS } from '@krmhub/functions/plan/declared-runtime';
import { field } from '@krmhub/schema/json/access';
import { type LayerFile, readLayerFile } from './kustomization-file.js';
import type { LayerContext } from './layer-context.js';
import type { Layer, ListedFunction } from './layers.js';
import { type ConfigUse, listConfigs } from './list-configs.js';

/** Fields that make functionConfigs, or change what of them decides which function runs. */
const CHANGING_FIELDS = [
  'patches',
  'patchesStrategicMerge',
  'patchesJson6902',
  'replacements',
  'vars',
  'generators',
  'transformers',
  'validators',
  'configMapGenerator',
  'secretGenerator',
  'helmCharts',
  'helmChartInflationGenerator',
] as const;

/**
 * Lists the functionConfigs that a kustomization has as its resources, for a layer that names its folder in place of a
 * file. kustomize builds that kustomization first. What the build would change is reported: it is not known before.
 */
export async function collectConfigs(
  context: LayerContext,
  layer: Layer,
  use: ConfigUse,
): Promise<ListedFunction[]> {
  const { reader } = context;
  const { file } = layer;
  if (layer.type === 'composition') {
    const message = `${reader.displayName(file)} is a Composition, expected a kustomization of functionConfigs`;
    reader.report('config/kind', message, context.place ?? { file });
    return [];
  }
  const read = await readLayerFile(reader, file, ['commonAnnotations', ...CHANGING_FIELDS]);
  if (read === undefined) return [];
  reportChanges(context, read);
  const functions: ListedFunction[] = [];
  for (const resource of layer.resources) {
    const bytes = await reader.readFile(resource);
    if (bytes !== undefined) functions.push(...listConfigs(reader, { bytes, file: resource }, use));
  }
  for (const below of layer.layers.filter((one) => one.use === 'base' || one.use === 'component')) {
    functions.push(...(await collectConfigs(context, below, use)));
  }
  return functions;
}

function reportChanges({ reader }: LayerContext, read: LayerFile): void {
  for (const name of CHANGING_FIELDS) {
    const found = read.field(name);
    if (found === undefined || found.value === null) continue;
    if (Array.isArray(found.value) && found.value.length === 0) continue;
    reader.report(
      'config/changed-config',
      `\`${name}\` changes or generates functionConfigs`,
      read.place(found.at),
    );
  }
  const annotations = read.field('commonAnnotations');
  if (annotations === undefined) return;
  for (const name of RUNTIME_ANNOTATIONS) {
    if (field(annotations.value, name) === undefined) continue;
    const place = read.place([...annotations.at, name]);
    reader.report('config/changed-config', `\`commonAnnotations\` sets the annotation ${name}`, place);
  }
}
