import { type Command, Option } from 'commander';
import type { Io } from '../io.js';

export function registerLint(program: Command, io: Io): void {
  program
    .command('lint')
    .description('Show every problem of definitions and catalogs, with its place and the way out.')
    .argument('<file...>', 'Files, folders of YAML and JSON, or - for stdin.')
    .addOption(
      new Option('--format <format>', 'How problems are printed.').choices(['text', 'json']).default('text'),
    )
    .addOption(
      new Option('--profile <profile>', 'What is asked: publishing to a registry, or the letter of KEP-2906.')
        .choices(['registry', 'kep'])
        .default('registry'),
    )
    .addHelpText(
      'after',
      `
In a folder, YAML of other kinds is passed over. Warnings do not fail: lint
ends with 1 where there are errors. docs/lint-rules.md explains each code.

Examples:
  krmhub lint definition.yaml
  krmhub lint functions/ --profile kep
  krmhub lint functions/ --format json | jq .diagnostics`,
    )
    .action(async (files: string[], options: { format: 'text' | 'json'; profile: 'registry' | 'kep' }) => {
      const { lintFiles } = await import('../lint-files.js');
      await lintFiles(io, files, options);
    });
}
