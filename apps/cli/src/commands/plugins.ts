import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import type { RemoveOptions } from '../kustomize/plugins/remove-plugins.js';
import {
  collectList,
  type ResolutionOptions,
  type RunningOptions,
  readResolution,
  readRunning,
  withOutput,
  withResolution,
  withRunning,
} from './options.js';

export function registerPlugins(program: Command, io: Io): void {
  const plugins = program
    .command('plugins')
    .summary('Install functions as plugins of kustomize.')
    .description('Install functions of catalogs as plugins that kustomize and kubectl find by themselves.')
    .addHelpText(
      'after',
      `
A plugin is a small file where kustomize and kubectl look for the kind of a
functionConfig. It runs the function that was installed, by its digest. Builds
need --enable-alpha-plugins, and no other change.

Examples:
  krmhub plugins install -c catalog.yaml
  krmhub plugins list
  krmhub plugins update --dry-run
  krmhub plugins remove --all`,
    );
  registerInstall(plugins, io);
  registerList(plugins, io);
  registerUpdate(plugins, io);
  registerRemove(plugins, io);
}

function withFolder(command: Command): Command {
  return command.option('--dir <folder>', 'Folder of plugins. Default: where kustomize looks.');
}

type InstallOptions = ResolutionOptions &
  RunningOptions & { kind?: string[]; force?: boolean; dir?: string; output: OutputFormat };

function registerInstall(parent: Command, io: Io): void {
  withOutput(withFolder(withRunning(withResolution(parent.command('install')))))
    .summary('Install plugins for the kinds of catalogs.')
    .description('Install a plugin for each kind of the catalogs, or for the named kinds.')
    .option(
      '--kind <kind>',
      'Only this kind: KIND, GROUP/KIND or GROUP/VERSION/KIND. Repeatable.',
      collectList,
    )
    .option('--force', 'Replace files that are not from krmhub, and plugins of another catalog.')
    .addHelpText(
      'after',
      `
The command resolves each kind, verifies what it runs, and pulls the image or
fetches the executable, so that plugins need no network. What you allow here,
the plugin may do later: --allow-exec, --network and --mount. It records all of
this in a file beside the plugin. docs/plugins.md tells more.

If a kustomization has a krmhub.lock, a plugin runs the release in it, and
nothing if that release is not installed: install it too, with --lock.

Examples:
  krmhub plugins install -c catalog.yaml
  krmhub plugins install -c https://krm.example.com/catalogs/default
  krmhub plugins install -c catalog.yaml --kind SetLabels
  krmhub plugins install -c catalog.yaml --kind example.com/v1/Logger --network
  krmhub plugins install -c catalog.yaml --allow-exec --dir plugins`,
    )
    .action(async (options: InstallOptions) => {
      const { installPlugins } = await import('../kustomize/plugins/install-plugins.js');
      const { lock, frozen = false, kind, dir, force = false, output } = options;
      await installPlugins(io, {
        search: readResolution(options),
        permissions: readRunning(options, io.cwd),
        lock: { frozen, ...(lock === undefined ? {} : { file: lock }) },
        force,
        output,
        ...(kind === undefined ? {} : { kinds: kind }),
        ...(dir === undefined ? {} : { dir }),
      });
    });
}

function registerList(parent: Command, io: Io): void {
  withOutput(withFolder(parent.command('list')))
    .summary('List the installed plugins.')
    .description('List the plugins that krmhub installed: what they run, and what you allowed.')
    .addHelpText('after', '\nExamples:\n  krmhub plugins list\n  krmhub plugins list -o json')
    .action(async (options: { dir?: string; output: OutputFormat }) => {
      const { listPlugins } = await import('../kustomize/plugins/list-plugins.js');
      await listPlugins(io, options);
    });
}

type UpdateOptions = RunningOptions & { dryRun?: boolean; yes?: boolean; offline?: boolean; dir?: string };

function registerUpdate(parent: Command, io: Io): void {
  withFolder(withRunning(parent.command('update')))
    .summary('Update plugins to what their catalogs have now.')
    .description('Resolve the kinds of installed plugins again, and install what their catalogs have now.')
    .argument('[names...]', 'Plugins as `krmhub plugins list` shows them. Default: all.')
    .option('--dry-run', 'Show what would change, and change nothing.')
    .option('--yes', 'Do not ask at a terminal.')
    .option('--offline', 'Use only the cache, not the network.')
    .addHelpText(
      'after',
      `
The command prints what changes for each plugin, and asks at a terminal before
it changes anything. What you allowed at the installation stays allowed; a
function that needs more stays as it is until you allow that too.

Examples:
  krmhub plugins update --dry-run
  krmhub plugins update example.com/v1/Logger --network --yes`,
    )
    .action(async (names: string[], options: UpdateOptions) => {
      const { updatePlugins } = await import('../kustomize/plugins/update-plugins.js');
      await updatePlugins(io, names, { ...options, permissions: readRunning(options, io.cwd) });
    });
}

function registerRemove(parent: Command, io: Io): void {
  withFolder(parent.command('remove'))
    .summary('Remove plugins.')
    .description('Remove plugins that krmhub installed. Other files stay.')
    .argument('[names...]', 'Plugins as `krmhub plugins list` shows them.')
    .option('--all', 'Remove all plugins that krmhub installed.')
    .option('--force', 'Also remove plugins that were changed since they were installed.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub plugins remove example.com/v1/Logger
  krmhub plugins remove --all`,
    )
    .action(async (names: string[], options: RemoveOptions) => {
      const { removePlugins } = await import('../kustomize/plugins/remove-plugins.js');
      await removePlugins(io, names, options);
    });
}
