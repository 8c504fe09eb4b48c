/**
 * Finds the functionConfigs of a kustomization, Composition, Kptfile, file, or folder.
 *
 * It follows kustomize and kpt: in what a path names, and in the order in which functions run. Everything is read under
 * limits, and all problems are collected, so that one error lists them.
 *
 * @module
 */

import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import { KPTFILE } from '@krmhub/functions/plan';
import { defined } from '@krmhub/schema/defined';
import { compareDiagnostics, type Diagnostic } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { plural, shellWord } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printWarning } from '../io/print.js';
import { readComposition } from './composition.js';
import { readFolder } from './kustomization.js';
import { COMPOSITION_FILES, existingFiles, KUSTOMIZATION_FILES } from './kustomization-file.js';
import type { LayerContext } from './layer-context.js';
import { LayerReader } from './layer-reader.js';
import type { Layer, ReadLayersOptions } from './layers.js';

/** What was found, and everything that is wrong with it. */
export interface InspectedLayers {
  /** Absent where the file of the package itself cannot be read. */
  layer?: Layer;
  /** In the order of the files. */
  diagnostics: Diagnostic[];
}

/**
 * Lists the functionConfigs of a kustomization, Composition, Kptfile, file or folder, with all layers that it is built
 * on. Prints warnings. Throws one `invalid-document` error with every problem, or `not-found` if the path does not exist.
 */
export async function readLayers(io: Io, target: string, options: ReadLayersOptions = {}): Promise<Layer> {
  const inspected = await inspectLayers(io, target, options);
  const { layer } = inspected;
  const diagnostics = inspected.diagnostics.filter(({ severity }) => severity === 'error');
  if (layer !== undefined && diagnostics.length === 0) {
    await printWarnings(io, inspected.diagnostics);
    return layer;
  }
  throw new KrmhubError(
    'invalid-document',
    `cannot list the functions of ${target}: ${plural(diagnostics.length, 'problem')}`,
    { diagnostics, hint: `List every problem with its position: krmhub explain ${shellWord(target)}` },
  );
}

async function printWarnings(io: Io, warnings: readonly Diagnostic[]): Promise<void> {
  if (warnings.length === 0) return;
  const { diagnosticLine } = await import('../io/error.js');
  for (const one of warnings) await printWarning(io, diagnosticLine(one));
}

/** As `readLayers`, but gives what was found beside the problems. */
export async function inspectLayers(
  io: Io,
  target: string,
  options: ReadLayersOptions = {},
): Promise<InspectedLayers> {
  const reader = await LayerReader.open(io, options);
  const layer = await readPackage(io, { reader, ancestors: [] }, target);
  const unique = new Map(reader.diagnostics.map((one) => [JSON.stringify(one), one]));
  const diagnostics = [...unique.values()].sort(compareDiagnostics);
  return { ...defined({ layer }), diagnostics };
}

async function readPackage(io: Io, context: LayerContext, target: string): Promise<Layer | undefined> {
  let found: string;
  let isFolder: boolean;
  try {
    found = await realpath(path.resolve(io.cwd, target));
    isFolder = (await stat(found)).isDirectory();
  } catch (error) {
    throw diskError(error, `cannot read ${target}`);
  }
  const name = path.basename(found);
  if (!isFolder) return readNamed(context, found, name);
  const type = context.reader.options.type ?? (await findType(found));
  if (type === 'kustomization' || type === 'composition') return readBuilt(context, found);
  if (type === 'kptfile') return (await import('./kptfile.js')).readKptfile(context, found);
  return (await import('./plain-files.js')).readPlainFolder(io, context, found);
}

/** Reads a kustomization or Composition, and the Kptfile beside it if it is wanted. */
async function readBuilt(context: LayerContext, folder: string): Promise<Layer | undefined> {
  const layer = await readFolder(context, folder, 'package');
  if (context.reader.options.withKptfile !== true) return layer;
  if ((await existingFiles(folder, [KPTFILE])).length === 0) return layer;
  const rendered = await (await import('./kptfile.js')).readKptfile(context, folder, 'subpackage');
  if (layer === undefined || rendered === undefined) return layer ?? rendered;
  return { ...layer, layers: [rendered, ...layer.layers] };
}

async function readNamed(context: LayerContext, file: string, name: string): Promise<Layer | undefined> {
  const folder = path.dirname(file);
  if ((KUSTOMIZATION_FILES as readonly string[]).includes(name))
    return readFolder(context, folder, 'package');
  if (name === KPTFILE) return (await import('./kptfile.js')).readKptfile(context, folder);
  if ((COMPOSITION_FILES as readonly string[]).includes(name)) {
    return readComposition(context, { folder, file }, 'package');
  }
  return (await import('./plain-files.js')).readNamedFile(context, file);
}

async function findType(folder: string): Promise<NonNullable<ReadLayersOptions['type']>> {
  if ((await existingFiles(folder, [...KUSTOMIZATION_FILES, ...COMPOSITION_FILES])).length > 0)
    return 'kustomization';
  return (await existingFiles(folder, [KPTFILE])).length > 0 ? 'kptfile' : 'folder';
}
