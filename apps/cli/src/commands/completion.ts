import { Argument, type Command } from 'commander';
import { type Io, write } from '../io/io.js';
import { VERSION } from '../version.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export function registerCompletion(program: Command, io: Io): void {
  program
    .command('completion')
    .description('Print a script with which a shell completes commands, options and files.')
    .addArgument(new Argument('<shell>', 'Shell that is to run it.').choices(SHELLS))
    .addHelpText(
      'after',
      `
The script asks nothing of krmhub while you type: make it anew after an upgrade.
New shells find it where these lines put it; for zsh, ~/.zshrc needs the line
fpath+=~/.zfunc before compinit.

Install:
  d=~/.local/share/bash-completion/completions && mkdir -p $d &&
    krmhub completion bash > $d/krmhub
  mkdir -p ~/.zfunc && krmhub completion zsh > ~/.zfunc/_krmhub
  d=~/.config/fish/completions && mkdir -p $d &&
    krmhub completion fish > $d/krmhub.fish

Examples:
  krmhub completion bash > krmhub.bash
  source <(krmhub completion bash)              in this shell alone`,
    )
    .action(async (shell: Shell) => {
      const { wordsOf } = await import('../completion/words.js');
      // The program that runs may know no command but this one.
      const { buildProgram } = await import('../program.js');
      const whole = wordsOf(await buildProgram(io));
      await write(io.stdout, (await generator(shell))(whole, VERSION));
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
