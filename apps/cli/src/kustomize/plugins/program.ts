import { isSea } from 'node:sea';
import { builtEntry } from '../../io/built-entry.js';
import type { PluginProgram } from './plugin-text.js';

/** Returns the programs that a new plugin starts: those that run now. */
export function pluginProgram(): PluginProgram {
  const { execPath } = process;
  // An executable runs plugins if it is given itself: its files are in a folder that the next version does not have.
  return { node: execPath, entry: isSea() ? execPath : builtEntry('plugin') };
}
