import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, say } from '../io/print.js';
import { connect } from '../registry/connection.js';
import { withOutput, withRegistry } from './options.js';

export function registerWhoami(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('whoami')))
    .description('Show which token is used, and what it may do.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub whoami
  krmhub whoami --registry https://krm.example.com -o json`,
    )
    .action(async (options: { registry?: string; output: OutputFormat }) => {
      const client = await connect(io, options.registry);
      const token = await client.whoami();
      await printData(io, options.output, { registry: client.url, ...token }, async () => {
        const { printTokens } = await import('./token/describe.js');
        await printTokens(io, [token]);
      });
      if (options.output === 'table' && io.stderr.isTTY === true) await say(io, `at ${client.url}`);
    });
}
