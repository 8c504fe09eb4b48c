import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { displayName } from '../function-configs/layer-reader.js';
import type { ListedFunction } from '../function-configs/layers.js';

/** A path in messages: relative to the working directory, if it is below it. */
export function displayPath({ cwd }: WorkingFolder, file: string): string {
  return displayName(realpathSync(cwd), path.resolve(cwd, file));
}

/** The file and the folder of a functionConfig in messages: addresses, for those of a remote base. */
export function displayListed(
  io: WorkingFolder,
  { file, address, layer, layerAddress }: ListedFunction,
): { file: string; layer: string } {
  return { file: address ?? displayPath(io, file), layer: layerAddress ?? displayPath(io, layer) };
}

/** `FILE:LINE:COLUMN` of a functionConfig, for messages. */
export function displayPlace(io: WorkingFolder, listed: ListedFunction): string {
  return `${displayListed(io, listed).file}:${listed.line}:${listed.column}`;
}
