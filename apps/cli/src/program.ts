import { existsSync } from 'node:fs';
import path from 'node:path';
import { CREDENTIALS_FILE, configurationFolder } from '@krmhub/consume/files/configuration-folder';
import type { SnapshotLimits } from '@krmhub/consume/ports';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { Command, CommanderError } from 'commander';
import { parseTimeout } from './io/duration.js';
import { EXIT_CODE, FAILED, SUCCESS, USAGE_ERROR } from './io/exit-code.js';
import { type DataFormat, hasColor, type Io, terminalWidth, write, writeVisible } from './io/io.js';
import { VERSION } from './io/version.js';

type Register = (program: Command, io: Io) => void;

/** Commands by their heading in the help, each with the file that registers it. */
const COMMANDS: Record<string, Record<string, () => Promise<Register>>> = {
  'Write functions:': {
    init: async () => (await import('./commands/init.js')).registerInit,
    lint: async () => (await import('./commands/lint.js')).registerLint,
    convert: async () => (await import('./commands/convert.js')).registerConvert,
    test: async () => (await import('./commands/test.js')).registerTest,
    pin: async () => (await import('./commands/pin.js')).registerPin,
    publish: async () => (await import('./commands/publish.js')).registerPublish,
  },
  'Find functions:': {
    search: async () => (await import('./commands/search.js')).registerSearch,
    show: async () => (await import('./commands/show.js')).registerShow,
    releases: async () => (await import('./commands/releases.js')).registerReleases,
    diff: async () => (await import('./commands/diff.js')).registerDiff,
  },
  'Use functions:': {
    build: async () => (await import('./commands/build.js')).registerBuild,
    fn: async () => (await import('./commands/fn.js')).registerFn,
    resolve: async () => (await import('./commands/resolve.js')).registerResolve,
    explain: async () => (await import('./commands/explain.js')).registerExplain,
    lock: async () => (await import('./commands/lock.js')).registerLock,
    outdated: async () => (await import('./commands/outdated.js')).registerOutdated,
    kpt: async () => (await import('./commands/kpt.js')).registerKpt,
    plugins: async () => (await import('./commands/plugins.js')).registerPlugins,
  },
  'Change the state of a release:': {
    yank: async () => (await import('./commands/yank.js')).registerYank,
    unyank: async () => (await import('./commands/unyank.js')).registerUnyank,
    deprecate: async () => (await import('./commands/deprecate.js')).registerDeprecate,
    undeprecate: async () => (await import('./commands/undeprecate.js')).registerUndeprecate,
    takedown: async () => (await import('./commands/takedown.js')).registerTakedown,
  },
  'Sign and verify:': {
    keygen: async () => (await import('./commands/keygen.js')).registerKeygen,
    sign: async () => (await import('./commands/sign.js')).registerSign,
    verify: async () => (await import('./commands/verify.js')).registerVerify,
    attach: async () => (await import('./commands/attach.js')).registerAttach,
    trust: async () => (await import('./commands/trust.js')).registerTrust,
  },
  'OCI registries:': {
    push: async () => (await import('./commands/push.js')).registerPush,
    pull: async () => (await import('./commands/pull.js')).registerPull,
    copy: async () => (await import('./commands/copy.js')).registerCopy,
    repo: async () => (await import('./commands/repo.js')).registerRepo,
  },
  'Catalogs:': {
    catalog: async () => (await import('./commands/catalog.js')).registerCatalog,
    owner: async () => (await import('./commands/owner.js')).registerOwner,
    publisher: async () => (await import('./commands/publisher.js')).registerPublisher,
    source: async () => (await import('./commands/source.js')).registerSource,
  },
  'Registry and access:': {
    serve: async () => (await import('./commands/serve.js')).registerServe,
    login: async () => (await import('./commands/login.js')).registerLogin,
    logout: async () => (await import('./commands/logout.js')).registerLogout,
    'docker-credential': async () =>
      (await import('./commands/docker-credential.js')).registerDockerCredential,
    whoami: async () => (await import('./commands/whoami.js')).registerWhoami,
    token: async () => (await import('./commands/token.js')).registerToken,
    user: async () => (await import('./commands/user.js')).registerUser,
    access: async () => (await import('./commands/access.js')).registerAccess,
    policy: async () => (await import('./commands/policy.js')).registerPolicy,
    audit: async () => (await import('./commands/audit.js')).registerAudit,
  },
  'Operate a registry:': {
    fsck: async () => (await import('./commands/fsck.js')).registerFsck,
    backup: async () => (await import('./commands/backup.js')).registerBackup,
    restore: async () => (await import('./commands/restore.js')).registerRestore,
    migrate: async () => (await import('./commands/migrate.js')).registerMigrate,
    move: async () => (await import('./commands/move.js')).registerMove,
    key: async () => (await import('./commands/key.js')).registerKey,
  },
  'Help:': {
    docs: async () => (await import('./commands/docs.js')).registerDocs,
  },
  'Shell:': {
    completion: async () => {
      const { registerCompletion } = await import('./commands/completion.js');
      // A run loads only the command that it needs; the scripts need all of them.
      return (program, io) => registerCompletion(program, io, () => buildProgram(io));
    },
  },
};
const HELP_COMMAND = ['help [command]', 'Show help for a command, or a page of the docs.'] as const;

/** Of the program itself, and so of every command. */
interface GlobalOptions {
  color?: boolean;
  verbose?: boolean;
  /** Seconds. */
  requestTimeout?: number;
}

const NAMES = Object.values(COMMANDS).flatMap((group) => Object.keys(group));

/** Returns the program with all commands, or with the named ones. Nothing runs before it parses arguments. */
export async function buildProgram(io: Io, names: readonly string[] = NAMES): Promise<Command> {
  const program = new Command('krmhub')
    .description('Publish, find, verify, and run KRM functions, and serve them as catalogs.')
    .version(VERSION, '-v, --version', 'Print the version.')
    .helpOption('-h, --help', 'Show help.')
    .commandsGroup('Help:')
    .helpCommand(...HELP_COMMAND)
    .option('--no-color', 'Disable colors, the same as NO_COLOR=1.')
    .option('--verbose', 'Print requests, the cache, and where credentials come from.')
    .option(
      '--request-timeout <duration>',
      'Wait this long for a server, for example 5s. Default: 1m, and 30s for catalogs.',
      parseTimeout,
    )
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({
      sortSubcommands: false,
      showGlobalOptions: false,
      helpWidth: Math.min(terminalWidth(io.stdout), 100),
      // The descriptions of commands have less than the default on a terminal of 80 columns.
      minWidthToWrap: 30,
    })
    .configureOutput({
      writeOut: (text) => void writeVisible(io.stdout, text),
      // Usage errors quote arguments.
      writeErr: (text) => void write(io.stderr, text),
      getOutHasColors: () => hasColor(io, io.stdout),
      getErrHasColors: () => hasColor(io, io.stderr),
      getOutHelpWidth: () => terminalWidth(io.stdout),
      getErrHelpWidth: () => terminalWidth(io.stderr),
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
  krmhub build app -c catalog.yaml              run functions of a catalog

Exit codes: 0 success, 1 problems found or request rejected, 2 usage error, 3
not found, 4 not trusted or digest mismatch, 5 registry, network, or disk, 6 not
signed in or not allowed. With -o json or -o yaml, an error is also data on
stdout.

Every command accepts the three global options. Commands that run functions have
a --timeout for them; for other commands, --timeout is --request-timeout.`,
    );
  program.hook('preAction', async (_, command) => {
    const { output } = command.opts<{ output?: unknown }>();
    if (output === 'json' || output === 'yaml') io.errorFormat = output;
    const { minSerial, maxAge } = command.opts<SnapshotLimits>();
    if (minSerial !== undefined || maxAge !== undefined) {
      io.snapshotLimits = defined({ minSerial, maxAge });
    }
    const { color, requestTimeout } = program.opts<GlobalOptions>();
    if (color === false) io.noColor = true;
    if (requestTimeout !== undefined) io.requestTimeout = requestTimeout * 1_000;
    if (!existsSync(path.join(configurationFolder(io), CREDENTIALS_FILE))) return;
    const { defaultRegistry } = await import('./registry/credentials-file.js');
    io.defaultRegistry ??= () => defaultRegistry(io);
  });
  for (const [heading, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const name of names) {
      const register = await commands[name]?.();
      register?.(program, io);
    }
  }
  // Commander gives them that of the program, which is in a group that they do not have.
  for (const one of program.commands) {
    const shown = one.createHelp().visibleCommands(one);
    if (shown.some((command) => command.name() === 'help')) one.helpCommand(...HELP_COMMAND);
  }
  hintAfterErrors(program);
  return program;
}

/** Returns the commands to load: loading all of them takes longer than most of them run. */
function neededCommands(args: readonly string[]): readonly string[] {
  const named = args.find((arg) => !arg.startsWith('-'));
  if (named === undefined && (args.includes('--version') || args.includes('-v'))) return [];
  return named !== undefined && NAMES.includes(named) ? [named] : NAMES;
}

/** Runs the program and sets `io.exitCode`. Rejects only for defects of the program itself. */
export async function runProgram(args: readonly string[], io: Io): Promise<void> {
  const plain = await helpPage(plainArguments(args));
  const program = await buildProgram(io, neededCommands(plain));
  const { command, rest } = findCommand(program, plain);
  const given = command.name() === 'search' ? withWords(command, plain) : plain;
  const parsed = command.options.some(({ long }) => long === '--timeout') ? given : requestTimeouts(given);
  let endTrace: (() => void) | undefined;
  program.hook('preAction', async () => {
    if (program.opts<GlobalOptions>().verbose !== true) return;
    endTrace = (await import('./io/trace.js')).startTrace(io);
  });
  try {
    await program.parseAsync(helpArguments(command, { args: parsed, rest }), { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed its message. Requested help is not an error.
      io.exitCode = error.exitCode === 0 || error.code === 'commander.helpDisplayed' ? SUCCESS : USAGE_ERROR;
      const format = askedFormat(args);
      if (io.exitCode === USAGE_ERROR && format !== undefined) {
        io.errorFormat = format;
        await printUsageErrorData(io, error, usageHint(command));
      }
      return;
    }
    const { printError, printErrorData } = await import('./io/error.js');
    await printError(io, error);
    await printErrorData(io, error);
    io.exitCode = error instanceof KrmhubError ? EXIT_CODE[error.code] : FAILED;
  } finally {
    endTrace?.();
  }
}

/** For commands that have no `--timeout` of their own. */
function requestTimeouts(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  return args.map((arg, at) => (at < end ? arg.replace(/^--timeout(?==|$)/, '--request-timeout') : arg));
}

/**
 * `-word` in a search leaves out functions. Commander takes what begins with a dash for an option, so this puts a space
 * before it, except where it is one: `-o`, its value, or a long option that lacks a dash.
 */
function withWords({ options }: Command, args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const isOption = (arg: string) =>
    options.some(({ short, long, argChoices }) => {
      const value = short && arg.startsWith(short) ? arg.slice(short.length).replace(/^=/, '') : undefined;
      return arg.split('=')[0] === long?.slice(1) || argChoices?.includes(value ?? '');
    });
  const isValue = (at: number) => options.some(({ long, required }) => required && long === args[at - 1]);
  return args.map((arg, at) =>
    at < end && /^-[^-]./.test(arg) && !isOption(arg) && !isValue(at) ? ` ${arg}` : arg,
  );
}

/** Returns the command that arguments name, and the arguments after its name; the program itself if they name none. */
function findCommand(program: Command, args: readonly string[]): { command: Command; rest: string[] } {
  let command = program;
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at]!;
    const option =
      command === program ? program.options.find(({ long }) => long === arg.split('=')[0]) : undefined;
    if (option !== undefined && option.long !== '--version') {
      if (option.required && !arg.includes('=')) at++;
      continue;
    }
    const next = command.commands.find((one) => one.name() === arg);
    if (next === undefined) break;
    command = next;
  }
  return { command, rest: args.slice(at) };
}

/**
 * Returns the arguments for commander. The program alone asks for its help. For an unknown command, there is no
 * help, so commander gets no option that asks for it.
 */
function helpArguments(
  { commands, parent }: Command,
  { args, rest }: { args: readonly string[]; rest: readonly string[] },
): string[] {
  if (commands.length === 0) return [...args];
  if (rest.length === 0) return parent === null ? [...args, '--help'] : [...args];
  if (rest[0]!.startsWith('-') || rest[0] === 'help') return [...args];
  return args.filter((arg) => arg !== '--help' && arg !== '-h');
}

/** Says what to run after an error of the arguments of a command. */
function usageHint(command: Command): string {
  const names: string[] = [];
  for (let one: Command | null = command; one !== null; one = one.parent) names.unshift(one.name());
  const what = command.commands.length > 0 ? 'List the commands' : 'Show the arguments and options';
  const pages = command.parent === null ? '; the pages of the docs: krmhub docs' : '';
  return `${what}: ${names.join(' ')} --help${pages}`;
}

function hintAfterErrors(command: Command): void {
  command.showHelpAfterError(`  hint: ${usageHint(command)}`);
  for (const one of command.commands) hintAfterErrors(one);
}

/** Returns the format of data that arguments ask for which were not parsed. */
function askedFormat(args: readonly string[]): DataFormat | undefined {
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  for (const [index, arg] of own.entries()) {
    const [, given = own[index + 1]] = /^(?:-o|--output)(?:=?(json|yaml))?$/.exec(arg) ?? [undefined, ''];
    if (given === 'json' || given === 'yaml') return given;
  }
  return undefined;
}

async function printUsageErrorData(io: Io, { message }: CommanderError, usage: string): Promise<void> {
  const { printErrorData } = await import('./io/error.js');
  // Commander adds a suggestion in a line of its own.
  const [first = '', ...more] = message.replace(/^error: /, '').split('\n');
  await printErrorData(io, new KrmhubError('usage', first, { hint: [...more, usage].join(' ') }));
}

/**
 * Turns `help catalog pull` into `catalog pull --help`, because commander supports only one name, and `version` into
 * `--version`.
 */
function plainArguments(args: readonly string[]): string[] {
  const [first, ...names] = withDashes(args);
  if (first === 'version' && names.length === 0) return ['--version'];
  if (first === undefined) return [];
  return first === 'help' && names.length > 0 ? [...names, '--help'] : [first, ...names];
}

/** Turns `build-an-app --help` into `docs build-an-app` where that is a page of the documentation and not a command. */
async function helpPage(args: string[]): Promise<string[]> {
  const [name = '', option, ...others] = args;
  if (option !== '--help' || others.length > 0 || NAMES.includes(name)) return args;
  const { hasDocsPage } = await import('./docs/print-docs.js');
  return hasDocsPage(name) ? ['docs', name] : args;
}

/** KEP-2906 writes `-catalog=URL`, as Go reads it; here, that would be the option `-c`. */
function withDashes(args: readonly string[]): string[] {
  const end = args.indexOf('--');
  return args.map((arg, index) =>
    end !== -1 && index > end ? arg : arg.replace(/^-((?:trusted-)?catalog)(?==|$)/, '--$1'),
  );
}
