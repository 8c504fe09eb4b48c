import type { Position } from '@krmhub/schema/diagnostic';
import { inlinePosition, isInlineConfig } from './config-documents.js';
import { collectConfigs } from './config-kustomization.js';
import type { EntryText, LayerFile } from './kustomization-file.js';
import type { LayerContext } from './layer-context.js';
import type { Layer, ListedFunction } from './layers.js';
import { type ConfigUse, listConfigs } from './list-configs.js';
import { readTarget } from './read-target.js';

/** Reads a folder as a layer. */
export type ReadFolder = (context: LayerContext, folder: string) => Promise<Layer | undefined>;

/**
 * Reads a list of functionConfigs: files, folders with a kustomization that has them as resources, and YAML text. Text
 * comes first, as in kustomize.
 */
export async function readEntries(
  context: LayerContext,
  read: LayerFile,
  folder: string,
  use: Omit<ConfigUse, 'entry'>,
  readFolder: ReadFolder,
): Promise<{ functions: ListedFunction[]; layers: Layer[] }> {
  const { reader } = context;
  const entries = read.texts(use.field);
  const inline = entries.filter(({ text }) => isInlineConfig(text));
  const functions = inline.flatMap((entry) =>
    listConfigs(reader, inlineText(read, entry), { ...use, entry: { index: entry.index, text: entry.text } }),
  );
  const layers: Layer[] = [];
  for (const entry of entries) {
    if (inline.includes(entry)) continue;
    const { index, text, place } = entry;
    const used = { ...use, entry: { index, text } };
    const target = await readTarget(context, folder, entry, { allowFile: true });
    if (target?.type === 'file') {
      const bytes = await reader.readFile(target.path);
      if (bytes !== undefined) functions.push(...listConfigs(reader, { bytes, file: target.path }, used));
    } else if (target !== undefined) {
      const layer = await readFolder(target.context, target.path);
      if (layer === undefined) continue;
      layer.configsOf = use.field;
      layers.push(layer);
      functions.push(...(await collectConfigs({ ...target.context, place }, layer, used)));
    }
  }
  return { functions, layers };
}

function inlineText({ file, source }: LayerFile, { text, range }: EntryText) {
  const position = (at: Position): Position =>
    range === undefined ? { line: 1, column: 1 } : inlinePosition(source, { text, range }, at);
  return { bytes: new TextEncoder().encode(text), file, position };
}
