import { KrmhubError } from '@krmhub/schema/error';
import { Command, CommanderError } from 'commander';
import { registerCatalog } from './commands/catalog.js';
import { registerCompletion } from './commands/completion.js';
import { registerConvert } from './commands/convert.js';
import { registerDeprecate } from './commands/deprecate.js';
import { registerDiff } from './commands/diff.js';
import { registerInit } from './commands/init.js';
import { registerLint } from './commands/lint.js';
import { registerLogin } from './commands/login.js';
import { registerLogout } from './commands/logout.js';
import { registerPublish } from './commands/publish.js';
import { registerSearch } from './commands/search.js';
import { registerServe } from './commands/serve.js';
import { registerShow } from './commands/show.js';
import { registerTakedown } from './commands/takedown.js';
import { registerToken } from './commands/token.js';
import { registerUnyank } from './commands/unyank.js';
import { registerWhoami } from './commands/whoami.js';
import { registerYank } from './commands/yank.js';
import { DONE, EXIT_CODE, FAILED, WRONG_USE } from './exit-code.js';
import { columnsOf, hasColor, type Io } from './io.js';
import { VERSION } from './version.js';

/** Commands in the groups of the help; each file of `commands/` registers one. */
const GROUPS: Record<string, ((program: Command, io: Io) => void)[]> = {
  'Write functions:': [registerInit, registerLint, registerConvert, registerPublish],
  'Find functions:': [registerSearch, registerShow, registerDiff],
  'Take back:': [registerYank, registerUnyank, registerDeprecate, registerTakedown],
  'Catalogs:': [registerCatalog],
  'Registry and access:': [registerServe, registerLogin, registerLogout, registerWhoami, registerToken],
  'This program:': [registerCompletion],
};

/** The whole program; nothing runs before it is parsed. */
export function buildProgram(io: Io): Command {
  const program = new Command('krmhub')
    .description('The registry for KRM functions: lint, publish and find them, and serve them as catalogs.')
    .version(VERSION, '--version', 'Print the version.')
    .helpOption('-h, --help', 'Show help.')
    .helpCommand('help [command]', 'Show help for a command.')
    .option('--no-color', 'Print without colours; so does NO_COLOR in the environment.')
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({
      sortSubcommands: false,
      showGlobalOptions: false,
      helpWidth: Math.min(columnsOf(io.stdout), 100),
    })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      getOutHasColors: () => hasColor(io, io.stdout),
      getErrHasColors: () => hasColor(io, io.stderr),
      getOutHelpWidth: () => columnsOf(io.stdout),
      getErrHelpWidth: () => columnsOf(io.stderr),
    })
    .addHelpText(
      'after',
      `
Examples:
  krmhub serve                                  run a registry on this machine
  krmhub init example.com/SetLabels             start a definition
  krmhub publish definition.yaml --release 1.0.0
  krmhub search --tag mutator
  krmhub show example.com/SetLabels

Registry: --registry, else KRMHUB_REGISTRY, else http://localhost:8080.
Exit codes: 0 done, 1 findings or refused, 2 wrong use, 3 not found,
4 not the bytes of the digest, 5 token, registry, network or disk.`,
    );
  program.hook('preAction', (_, command) => {
    if (command.optsWithGlobals().color === false) io.noColor = true;
  });
  for (const [heading, registrations] of Object.entries(GROUPS)) {
    program.commandsGroup(heading);
    for (const register of registrations) register(program, io);
  }
  return program;
}

/** Runs the program and sets `io.exitCode`; rejects only for what is wrong with the program itself. */
export async function runProgram(args: readonly string[], io: Io): Promise<void> {
  try {
    await buildProgram(io).parseAsync(helpArguments(args), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed what it wanted to say; help that was asked for is no error.
      io.exitCode = error.exitCode === 0 || error.code === 'commander.helpDisplayed' ? DONE : WRONG_USE;
      return;
    }
    const { printError } = await import('./output/error.js');
    await printError(io, error);
    io.exitCode = error instanceof KrmhubError ? EXIT_CODE[error.code] : FAILED;
  }
}

/** `help catalog pull` as `catalog pull --help`: commander looks no deeper than the first name. */
function helpArguments(args: readonly string[]): string[] {
  const [first, ...names] = args;
  return first === 'help' && names.length > 1 ? [...names, '--help'] : [...args];
}
