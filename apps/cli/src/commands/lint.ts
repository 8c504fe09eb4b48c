import { type Command, InvalidArgumentError, Option } from 'commander';
import { LINT_FORMATS } from '../functions/lint/formats.js';
import type { LintFilesOptions } from '../functions/lint/lint-files.js';
import type { Io } from '../io/io.js';

export function registerLint(program: Command, io: Io): void {
  program
    .command('lint')
    .description('Show every problem of definitions, catalogs and recipes, with its place and the way out.')
    .argument('<file...>', 'Files, folders of YAML and JSON, oci://… artifacts, or - for stdin.')
    .addOption(
      new Option('--format <format>', 'How problems are printed.').choices(LINT_FORMATS).default('text'),
    )
    .addOption(
      new Option('--profile <profile>', 'What is asked: publishing to a registry, or the letter of KEP-2906.')
        .choices(['registry', 'kep'])
        .default('registry'),
    )
    .option('--skip-others', 'Pass over what is no definition or catalog in named files too.')
    .option('--rules-url <url>', 'Where docs/lint-rules.md is published; SARIF links to it.', webAddress)
    .addHelpText(
      'after',
      `
In a folder, YAML of other kinds is passed over, and so are Helm templates;
what is named has to be a definition or catalog, unless --skip-others is given.
Recipes of catalogs, and files of signing policies, are linted as well.
Warnings do not fail: lint ends with 1 where there are errors.
docs/lint-rules.md explains each code, docs/ci.md the formats for pipelines,
docs/oci-artifacts.md oci://.

Examples:
  krmhub lint definition.yaml
  krmhub lint functions/ --profile kep
  krmhub lint functions/ --format json | jq .diagnostics
  krmhub lint functions/ --format sarif > krmhub.sarif`,
    )
    .action(async (files: string[], options: LintFilesOptions) => {
      const { lintFiles } = await import('../functions/lint/lint-files.js');
      await lintFiles(io, files, options);
    });
}

function webAddress(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('Give an http or https URL.');
  return text;
}
