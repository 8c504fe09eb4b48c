import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { type Command, Option } from 'commander';
import type { Io } from '../io/io.js';
import { OUTPUT_FORMATS } from '../io/print.js';
import type { LockPlanOptions } from '../lock/plan-lock-file.js';
import type { PreviewOptions } from '../preview/preview-package.js';
import type { PreviewFormat } from '../preview/preview-report.js';
import { type FnCommandOptions, readFnSettings, withPackageRuns } from './fn/fn-options.js';
import { kustomizeOption, readResolution, splitArguments } from './options.js';

interface LockCommandOptions extends Omit<FnCommandOptions, 'output'> {
  check?: boolean;
  upgrade?: string[] | true;
  ignoreMinAge?: string[] | true;
  dryRun?: boolean;
  report?: boolean;
  reportAs?: string;
  reportFields?: boolean;
  preview?: boolean;
  interactive?: boolean;
  kustomize?: string;
  output: PreviewFormat;
}

/** Options that are for running functions, which only a preview does. */
const PREVIEW_OPTIONS = [
  ...['allowExec', 'network', 'mount', 'engine', 'timeout', 'kustomize', 'allowPackageExec', 'requireDigest'],
  ...['allowEmpty', 'env', 'asCurrentUser', 'imagePullPolicy', 'skipUnreadable'],
];

export function registerLock(program: Command, io: Io): void {
  withPackageRuns(program.command('lock'))
    .summary('Lock the functions of a package.')
    .description(
      'Record in krmhub.lock, by digest, which function runs for each functionConfig of a package.',
    )
    .usage('[options] <path> [-- FLAGS...]')
    .argument(
      '<path>',
      'Folder with a kustomization, Composition, or Kptfile, or a file with functionConfigs.',
    )
    .argument('[flags...]', 'Flags for kustomize after --, for --preview.')
    .option('--check', 'Do not write. If the file is out of date, print the difference and exit with 1.')
    .option(
      '--upgrade [kind...]',
      'Resolve these kinds and images again, and print the changes. Default: all.',
    )
    .option(
      '--ignore-min-age [kind...]',
      'Also use releases of these kinds that are too new for minAge in krmhub.yaml. Default: all.',
    )
    .option('--dry-run', 'Write and send nothing, and print what would be written and sent.')
    .option('--report', 'Report to the registries of its catalogs which releases the package locks.')
    .option('--report-as <name>', 'Report under this public name. By default, the name is a hash.')
    .option('--report-fields', 'Report also which fields the functionConfigs set, without values.')
    .option('--preview', 'Do not write. Print what would change, also in the rendered manifests.')
    .option('--interactive', 'Ask for each function before it is upgraded.')
    .addOption(kustomizeOption())
    .addOption(
      new Option('-o, --output <format>', 'Output format; markdown is for --preview.')
        .choices([...OUTPUT_FORMATS, 'markdown'])
        .default('table'),
    )
    .addHelpText(
      'after',
      `
Locked functions do not change until you upgrade them. The command adds new
functions, and removes unused functions. An image with a tag that the package
names itself is locked by its digest. If the command cannot resolve a function,
it does not write the file. Commit krmhub.lock with the package.

The command prints upgrades in the classes of \`krmhub catalog diff\`.
krmhub docs lock describes the file.

With --report, the owners of functions learn how many packages lock a release,
and would break by a new one. Nothing is sent otherwise. The command prints
exactly what it sends.

--preview renders the package with both locks, as \`krmhub build\`,
\`krmhub fn render\`, or \`krmhub fn run\` does, and prints the difference of each
resource. Functions run with the options that these commands need. Values of
Secrets are hidden. krmhub docs upgrade has an example.

Exit codes: 0 done, 1 out of date (--check), a file has a problem, or a new
release rejects a functionConfig, 3 a function is not found, 4 a catalog or
signer is not trusted. If a preview cannot render the package with the new lock:
the code of that command.

Examples:
  krmhub lock app --trusted-catalog https://krm.example.com/catalogs/default
  krmhub lock app -c default --check
  krmhub lock app -c default --upgrade
  krmhub lock app -c default --upgrade SetLabels -o json
  krmhub lock app -c default --upgrade --preview
  krmhub lock app -c default --upgrade --preview -o markdown > pull-request.md
  krmhub lock app -c default --upgrade --interactive
  krmhub lock app -c default --check --report --report-as shop`,
    )
    .action(async (_target: string, _flags: string[], options: LockCommandOptions, command: Command) => {
      const { own, following } = splitArguments(command, command.args);
      if (own.length !== 1) {
        command.error('error: name one package, and write flags of kustomize after --');
      }
      const [target = ''] = own;
      checkOptions(command, options, following);
      const { check = false, upgrade, ignoreMinAge } = options;
      const { preview, interactive = false, output, lock, imagePrefix } = options;
      const kinds = (named: string[] | true | undefined) => (named === true ? [] : named);
      const resolution = await readResolution(io, options);
      const plan: LockPlanOptions & { interactive: boolean } = {
        ...resolution,
        interactive,
        ...defined({ upgrade: kinds(upgrade), ignoreMinAge: kinds(ignoreMinAge) }),
        ...defined({ lockFile: lock, imagePrefix }),
      };
      if (preview === true) {
        const { previewLock } = await import('../preview/preview-package.js');
        const render = await readRender(io, options, following);
        await previewLock(io, target, { lock: plan, render, output, check });
        return;
      }
      const { lockPackage } = await import('../lock/lock-package.js');
      if (output === 'markdown') throw new KrmhubError('usage', '-o markdown requires --preview');
      const { dryRun = false, report = false, reportAs, reportFields } = options;
      const reporting = { report, ...defined({ reportAs, reportFields }) };
      await lockPackage(io, target, { ...plan, ...reporting, check, dryRun, output });
    });
}

function checkOptions(command: Command, options: LockCommandOptions, following: readonly string[]): void {
  const { preview, interactive, upgrade, check, report, reportAs, reportFields } = options;
  if (report !== true && (reportAs !== undefined || reportFields === true)) {
    throw new KrmhubError('usage', '--report-as and --report-fields are for --report', {
      hint: 'Add --report, with --dry-run to see first what it sends.',
    });
  }
  if (report === true && preview === true) {
    throw new KrmhubError('usage', '--preview reports nothing: use --report without it');
  }
  if (interactive === true && (upgrade === undefined || check === true)) {
    throw new KrmhubError(
      'usage',
      '--interactive asks about upgrades: use it with --upgrade, and without --check',
    );
  }
  if (preview === true) return;
  const given = PREVIEW_OPTIONS.find((name) => command.getOptionValueSource(name) === 'cli');
  if (given === undefined && following.length === 0) return;
  const flag =
    given === undefined ? '--' : command.options.find((one) => one.attributeName() === given)?.long;
  throw new KrmhubError('usage', `${flag} requires --preview: without it, no function runs`);
}

/** The options of `krmhub build` and `krmhub fn`, which have the same names here. */
async function readRender(
  io: Io,
  options: LockCommandOptions,
  following: readonly string[],
): Promise<PreviewOptions['render']> {
  const { output: _, kustomize, ...rest } = options;
  const fn = await readFnSettings(io, { ...rest, truncateOutput: false, format: 'edit' });
  const { resolution, permissions, frozen, requireDigest, lock } = fn;
  return {
    fn,
    build: {
      ...{ resolution, permissions, frozen, requireDigest, arguments: following },
      ...defined({ lock, kustomize }),
    },
  };
}
