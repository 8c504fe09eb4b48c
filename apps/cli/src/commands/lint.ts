import { parseUrl } from '@krmhub/schema/parse-url';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { LINT_FORMATS } from '../functions/lint/formats.js';
import type { LintFilesOptions } from '../functions/lint/lint-options.js';
import type { Io } from '../io/io.js';

export function registerLint(program: Command, io: Io): void {
  program
    .command('lint')
    .summary('Find problems in documents.')
    .description(
      'Find problems in definitions, catalogs, recipes, and policies, with their position and a fix.',
    )
    .argument('<file...>', 'Files, folders with YAML and JSON, oci://… artifacts, or - for stdin.')
    .addOption(new Option('-o, --output <format>', 'Output format.').choices(LINT_FORMATS).default('text'))
    .addOption(
      new Option('--ruleset <ruleset>', 'Rules to apply: all rules of a registry, or only KEP-2906.')
        .choices(['registry', 'kep'])
        .default('registry'),
    )
    .option('--release <release>', 'Release to publish. Warns if an image tag names another release.')
    .option('--skip-others', 'Skip documents of other kinds in named files too.')
    .option('--rules-url <url>', 'URL of the page lint-rules for the links in SARIF.', parseWebUrl)
    .addHelpText(
      'after',
      `
In a folder, the command skips YAML of other kinds and Helm templates. A file
argument must be a definition, catalog, recipe, or policy, unless you use
--skip-others. For the codes, see krmhub docs lint-rules; for pipelines, ci; and
for oci://, oci-artifacts. The text output has the first warning of each code in
full, and the places of the others; the other formats have all.

Exit codes: 0 no errors (warnings are possible), 1 errors.

Examples:
  krmhub lint definition.yaml
  krmhub lint functions/ --ruleset kep
  krmhub lint definition.yaml --release 1.0.0
  krmhub lint functions/ -o json | jq .diagnostics
  krmhub lint functions/ -o sarif > krmhub.sarif`,
    )
    .action(async (files: string[], options: LintFilesOptions) => {
      const { lintFiles } = await import('../functions/lint/lint-files.js');
      await lintFiles(io, files, options);
    });
}

function parseWebUrl(text: string): string {
  if (!/^https?:\/\//i.test(text) || parseUrl(text) === undefined)
    throw new InvalidArgumentError('Use an http or https URL.');
  return text;
}
