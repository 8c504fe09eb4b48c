import type { Severity } from '@krmhub/schema/diagnostic';

/** What is wrong with a Starlark script. */
export const SCRIPT_CODES = {
  'script/syntax': {
    severity: 'error',
    summary: 'The script cannot be parsed.',
    fix: 'Correct the syntax at the position.',
  },
  'script/name': {
    severity: 'error',
    summary: 'A name is not defined, or a statement is not allowed at its position.',
    fix: 'Correct the spelling, or define the name before it is used.',
  },
  'script/unknown-module': {
    severity: 'error',
    summary: 'The script loads an unknown module, or an unknown name of a module.',
    fix: 'Load one of the modules in docs/starlark.md. A function is one file: it cannot load others.',
  },
  'script/unavailable-module': {
    severity: 'warning',
    summary: 'The script loads a module that krmhub does not support.',
    fix: 'Remove the load if the script does not use the module.',
  },
  'script/unused-load': {
    severity: 'warning',
    summary: 'The script loads a name and does not use it.',
    fix: 'Remove the name from the load statement.',
  },
  'script/unreachable': {
    severity: 'warning',
    summary: 'A statement can never run.',
    fix: 'Remove it, or the statement before it that ends the block.',
  },
  'script/too-large': {
    severity: 'error',
    summary: 'The script exceeds the size limit.',
    fix: 'Move data out of the script, for example into the functionConfig.',
  },
} as const satisfies Record<string, { severity: Severity; summary: string; fix: string }>;

export type ScriptCode = keyof typeof SCRIPT_CODES;
