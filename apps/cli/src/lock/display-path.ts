import { realpathSync } from 'node:fs';
import path from 'node:path';
import { displayName } from '../function-configs/layer-reader.js';
import type { Io } from '../io/io.js';

/** A path in messages: relative to the working directory, if it is below it. */
export function displayPath({ cwd }: Pick<Io, 'cwd'>, file: string): string {
  return displayName(realpathSync(cwd), path.resolve(cwd, file));
}
