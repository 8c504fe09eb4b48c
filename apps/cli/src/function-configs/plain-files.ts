import path from 'node:path';
import { RUNTIME_ANNOTATIONS } from '@krmhub/functions/plan/declared-runtime';
import { KrmhubError } from '@krmhub/schema/error';
import { findDocumentFiles } from '../documents/document-files.js';
import type { Io } from '../io/io.js';
import { emptyLayer, type LayerContext } from './layer-context.js';
import type { Layer } from './layers.js';
import { listConfigs } from './list-configs.js';

/** What a file contains that has a functionConfig with its own runtime. */
const MARKS = [...RUNTIME_ANNOTATIONS, 'configFn', 'runtime'];

/** Reads a file whose documents are all functionConfigs, because its user says so. */
export async function readNamedFile(context: LayerContext, file: string): Promise<Layer> {
  const folder = path.dirname(file);
  const layer = emptyLayer(context, { folder, file, type: 'folder', use: 'package' });
  const bytes = await context.reader.readFile(file);
  const use = { layer: folder, catalogs: [], field: 'files' } as const;
  if (bytes !== undefined) layer.functions = listConfigs(context.reader, { bytes, file }, use);
  return layer;
}

/**
 * Reads a folder that no tool builds: functionConfigs are the documents that name their own runtime; with `all`, every
 * document is a candidate. Other manifests, and files that are not YAML, are left alone.
 */
export async function readPlainFolder(io: Io, context: LayerContext, folder: string): Promise<Layer> {
  const { reader } = context;
  const all = reader.options.all === true;
  const layer = emptyLayer(context, { folder, file: folder, type: 'folder', use: 'package' });
  const use = { layer: folder, catalogs: [], field: 'files' } as const;
  for (const file of await yamlFiles(io, folder)) {
    const bytes = await reader.readFile(file);
    if (bytes === undefined) break;
    const text = Buffer.from(bytes).toString('latin1');
    const isMarked = MARKS.some((mark) => text.includes(mark));
    if (!isMarked && !all) continue;
    const known = reader.diagnostics.length;
    const listed = listConfigs(reader, { bytes, file }, use);
    const own = listed.filter(({ request }) => request.inline !== undefined);
    // A problem counts where the file has functionConfigs for certain.
    const counts = own.length > 0 || RUNTIME_ANNOTATIONS.some((name) => text.includes(name));
    if (!counts) reader.diagnostics.length = known;
    else {
      const others = reader.diagnostics.splice(known);
      reader.diagnostics.push(...others.filter(({ code }) => code !== 'config/not-a-config'));
    }
    layer.functions.push(
      ...listed.flatMap((one) =>
        one.request.inline !== undefined ? one : all ? { ...one, isCandidate: true } : [],
      ),
    );
  }
  return layer;
}

async function yamlFiles(io: Io, folder: string): Promise<string[]> {
  try {
    const { files } = await findDocumentFiles(io, [folder]);
    return files.map(({ name }) => name);
  } catch (error) {
    // A folder without YAML files has no functions, which is not an error.
    if (error instanceof KrmhubError && error.code === 'not-found') return [];
    throw error;
  }
}
