import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { withOutput, withRegistry } from './options.js';

export function registerWhoami(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('whoami')))
    .summary('Show the token in use.')
    .description('Show the token in use and what it can do.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub whoami
  krmhub whoami --registry https://krm.example.com -o json`,
    )
    .action(async (options: { registry?: string; output: OutputFormat }) => {
      const { printIdentity } = await import('../registry/print-identity.js');
      await printIdentity(io, options);
    });
}
