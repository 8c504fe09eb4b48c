import type { Command } from 'commander';
import type { Io } from '../io/io.js';

export function registerDocs(program: Command, io: Io): void {
  program
    .command('docs')
    .summary('Print the documentation.')
    .description('List the pages of the documentation, or print one as Markdown.')
    .argument('[page]', 'Name of a page, such as build.')
    .addHelpText(
      'after',
      `
krmhub help PAGE prints a page too. Every registry serves the pages of its own
version at /docs, with a search.

Examples:
  krmhub docs
  krmhub docs fn | less`,
    )
    .action(async (page: string | undefined) => {
      const { printDocs } = await import('../docs/print-docs.js');
      await printDocs(io, page);
    });
}
