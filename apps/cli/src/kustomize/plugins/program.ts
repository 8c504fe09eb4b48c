import { builtEntry } from '../../io/built-entry.js';
import type { PluginProgram } from './plugin-text.js';

/** Returns the programs that a new plugin starts: those that run now. */
export function pluginProgram(): PluginProgram {
  return { node: process.execPath, entry: builtEntry('plugin') };
}
