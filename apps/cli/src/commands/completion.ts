import { Argument, type Command, Option } from 'commander';
import type { CompleteNamesOptions } from '../completion/complete-names.js';
import { type Io, writeVisible } from '../io/io.js';
import { VERSION } from '../io/version.js';
import { withRegistry } from './options.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** `buildProgram` returns the program with every command. */
export function registerCompletion(program: Command, io: Io, buildProgram: () => Promise<Command>): void {
  const completion = program.command('completion');
  completion
    .summary('Print a completion script.')
    .description('Print a completion script for commands, options, files, and functions.')
    .usage('[options] <shell>')
    .addArgument(new Argument('<shell>', 'Shell to print the script for.').choices(SHELLS))
    .addHelpText(
      'after',
      `
Generate the script again after you upgrade krmhub. For zsh, add the line
fpath+=~/.zfunc to ~/.zshrc before compinit.

The scripts complete names of functions from the registry. Names are stored in
the cache for 5 minutes, and longer while the registry does not respond. No
token is sent.

Install:
  d=~/.local/share/bash-completion/completions && mkdir -p $d &&
    krmhub completion bash > $d/krmhub
  mkdir -p ~/.zfunc && krmhub completion zsh > ~/.zfunc/_krmhub
  d=~/.config/fish/completions && mkdir -p $d &&
    krmhub completion fish > $d/krmhub.fish

Examples:
  krmhub completion bash > krmhub.bash
  source <(krmhub completion bash)              only for the current shell`,
    )
    .action(async (shell: Shell) => {
      const { describeCommand } = await import('../completion/describe-command.js');
      const described = describeCommand(await buildProgram());
      await writeVisible(io.stdout, (await generator(shell))(described, VERSION));
    });
  // For the scripts.
  withRegistry(completion.command('names', { hidden: true }))
    .description('Print the functions or releases that match a word.')
    .argument('[word]', 'The word to complete.', '')
    .addOption(new Option('--of <what>').choices(['functions', 'releases']).default('functions'))
    .action(async (word: string, options: CompleteNamesOptions) => {
      const { completeNames } = await import('../completion/complete-names.js');
      await completeNames(io, word, options);
    });
}

async function generator(shell: Shell) {
  switch (shell) {
    case 'bash':
      return (await import('../completion/bash.js')).bashScript;
    case 'zsh':
      return (await import('../completion/zsh.js')).zshScript;
    case 'fish':
      return (await import('../completion/fish.js')).fishScript;
  }
}
