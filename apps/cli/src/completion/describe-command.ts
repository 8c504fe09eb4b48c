/**
 * Completion for shells: scripts for bash, zsh, and fish, and the names of functions.
 *
 * The scripts are generated from the commands and options of the program itself. They run krmhub only for the names of
 * functions.
 *
 * @module
 */

import type { Argument, Command, Option } from 'commander';

/** The completion of a value; `none` if there is no completion. Functions and releases are those of the registry. */
export type Values =
  | { kind: 'choices'; choices: string[] }
  | { kind: 'files' | 'folders' | 'functions' | 'releases' | 'none' };

export interface OptionDescription {
  /** `-o`, `--output`. */
  flags: string[];
  description: string;
  /** Present for an option with a value. */
  value?: { name: string; values: Values };
}

export interface ArgumentDescription {
  name: string;
  values: Values;
  variadic: boolean;
}

export interface CommandDescription {
  /** Names below the program, for example `['catalog', 'pull']`. */
  path: string[];
  description: string;
  options: OptionDescription[];
  arguments: ArgumentDescription[];
  commands: CommandDescription[];
}

/** Describes a command. `shared` options are valid for every command. */
export function describeCommand(
  command: Command,
  path: string[] = [],
  shared: OptionDescription[] = [],
): CommandDescription {
  const help = command.createHelp();
  const own = help.visibleOptions(command).map(describeOption);
  const known = new Set(own.flatMap(({ flags }) => flags));
  const options = [...own, ...shared.filter(({ flags }) => !flags.some((flag) => known.has(flag)))];
  // Options of the program apply to its commands, except --version.
  const passedOn = path.length === 0 ? own.filter(({ flags }) => !flags.includes('--version')) : shared;
  const children = help
    .visibleCommands(command)
    .filter((child) => path.length === 0 || child.name() !== 'help');
  const commands = children.map((child) => describeCommand(child, [...path, child.name()], passedOn));
  for (const one of commands) {
    if (path.length > 0 || one.path[0] !== 'help') continue;
    const choices = commands.map((other) => other.path[0]!).filter((name) => name !== 'help');
    one.arguments = [{ name: 'command', values: { kind: 'choices', choices }, variadic: false }];
  }
  return {
    path,
    description: summary(command.description()),
    options,
    arguments: help.visibleArguments(command).concat(hiddenArguments(command)).map(describeArgument),
    commands,
  };
}

/** Returns a command and all its subcommands, parents first. */
export function allCommands(words: CommandDescription): CommandDescription[] {
  return [words, ...words.commands.flatMap(allCommands)];
}

function describeOption(option: Option): OptionDescription {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined);
  const description = summary(option.description);
  if (!option.required && !option.optional) return { flags, description };
  const name = /[<[]([^\]>]+?)(?:\.\.\.)?[\]>]/.exec(option.flags)?.[1] ?? 'value';
  return {
    flags,
    description,
    value: { name, values: completionValues(name, option.description, option.argChoices) },
  };
}

function describeArgument(argument: Argument): ArgumentDescription {
  const name = argument.name();
  return {
    name,
    values: completionValues(name, argument.description, argument.argChoices),
    variadic: argument.variadic,
  };
}

/** Returns the arguments that the help of commander hides: those without a description. */
function hiddenArguments(command: Command): readonly Argument[] {
  return command.createHelp().visibleArguments(command).length > 0 ? [] : command.registeredArguments;
}

/** What a value is, its name or its description says. */
function completionValues(name: string, description: string, choices: readonly string[] | undefined): Values {
  if (choices !== undefined) return { kind: 'choices', choices: [...choices] };
  if (/^(?:folder|directory|dir)$/.test(name)) return { kind: 'folders' };
  if (/^(?:files?|path)$/.test(name) || /\bfiles?\b/i.test(description)) return { kind: 'files' };
  if (/^Folder\b/.test(description)) return { kind: 'folders' };
  if (/^Release as /.test(description)) return { kind: 'releases' };
  // A function in the form GROUP/KIND alone is a new one.
  const isFunction = /\[GROUP\/\]KIND|GROUP\/KIND(?:\[@RELEASE\]| or )/.test(description);
  return { kind: isFunction ? 'functions' : 'none' };
}

/** Returns the first sentence in one line. */
function summary(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return (/^.*?[.;](?=\s|$)/.exec(line)?.[0] ?? line).replace(/[.;]$/, '');
}
