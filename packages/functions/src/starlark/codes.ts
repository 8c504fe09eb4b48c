import { type CodeEntry, error, warning } from '@krmhub/yaml/code-entry';

/** What is wrong with a Starlark script. */
export const SCRIPT_CODES = {
  'script/syntax': error('The script cannot be parsed.', 'Correct the syntax at the position.'),
  'script/name': error(
    'A name is not defined, or a statement is not allowed at its position.',
    'Correct the spelling, or define the name before it is used.',
  ),
  'script/unknown-module': error(
    'The script loads an unknown module, or an unknown name of a module.',
    'Load one of the modules that `krmhub docs starlark` lists. A function is one file: it cannot load others.',
  ),
  'script/unavailable-module': warning(
    'The script loads a module that krmhub does not support.',
    'Remove the load if the script does not use the module.',
  ),
  'script/unused-load': warning(
    'The script loads a name and does not use it.',
    'Remove the name from the load statement.',
  ),
  'script/unreachable': warning(
    'A statement can never run.',
    'Remove it, or the statement before it that ends the block.',
  ),
  'script/too-large': error(
    'The script exceeds the size limit.',
    'Move data out of the script, for example into the functionConfig.',
  ),
} as const satisfies Record<string, CodeEntry>;

export type ScriptCode = keyof typeof SCRIPT_CODES;
