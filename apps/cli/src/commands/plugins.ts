import { defined } from '@krmhub/schema/defined';
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
  withSnapshotLimits,
} from './options.js';

export function registerPlugins(program: Command, io: Io): void {
  const plugins = program
    .command('plugins')
    .summary('Install functions as kustomize plugins.')
    .description('Install functions from catalogs as kustomize plugins, for kustomize and kubectl.')
    .addHelpText(
      'after',
      `
A plugin is a small program in the plugin folder of kustomize, at the path for
its kind. It runs the installed function by digest. Builds need only the flag
--enable-alpha-plugins.

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
  // Its most similar name is install.
  plugins
    .command('uninstall', { hidden: true })
    .argument('[names...]')
    .allowUnknownOption()
    .action(() => {
      const message = "error: unknown command 'uninstall'\n(Did you mean remove?)";
      plugins.error(message, { code: 'commander.unknownCommand' });
    });
}

function withFolder(command: Command): Command {
  return command.option('--dir <folder>', 'Folder for plugins. Default: the plugin folder of kustomize.');
}

type InstallOptions = ResolutionOptions &
  RunningOptions & { kind?: string[]; force?: boolean; dir?: string; output: OutputFormat };

function registerInstall(parent: Command, io: Io): void {
  withOutput(withFolder(withRunning(withResolution(parent.command('install')))))
    .summary('Install plugins for the kinds in catalogs.')
    .description('Install a plugin for each kind in the catalogs, or for selected kinds.')
    .option(
      '--kind <kind>',
      'Only this kind: KIND, GROUP/KIND, or GROUP/VERSION/KIND. Repeatable.',
      collectList,
    )
    .option('--force', 'Replace files that krmhub did not install, and plugins from other catalogs.')
    .addHelpText(
      'after',
      `
The command resolves and verifies each kind, and pulls its image or executable,
so plugins need no network. The permissions --allow-exec, --network, and --mount
apply to each later run. The command records them in a file next to the plugin.
See krmhub docs plugins.

If a kustomization has a krmhub.lock, a plugin runs only the release in it. To
install this release, use --lock.

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
        search: await readResolution(io, options),
        permissions: readRunning(options, io.cwd),
        lock: { frozen, ...defined({ file: lock }) },
        force,
        output,
        ...defined({ kinds: kind, dir }),
      });
    });
}

function registerList(parent: Command, io: Io): void {
  withOutput(withFolder(parent.command('list')))
    .summary('List the installed plugins.')
    .description('List the plugins that krmhub installed, with their runtimes and permissions.')
    .addHelpText('after', '\nExamples:\n  krmhub plugins list\n  krmhub plugins list -o json')
    .action(async (options: { dir?: string; output: OutputFormat }) => {
      const { listPlugins } = await import('../kustomize/plugins/list-plugins.js');
      await listPlugins(io, options);
    });
}

type UpdateOptions = RunningOptions & {
  dryRun?: boolean;
  yes?: boolean;
  offline?: boolean;
  dir?: string;
  output: OutputFormat;
};

function registerUpdate(parent: Command, io: Io): void {
  withOutput(withFolder(withRunning(withSnapshotLimits(parent.command('update')))))
    .summary('Update plugins from their catalogs.')
    .description('Resolve the kinds of installed plugins again, and install the current functions.')
    .argument('[names...]', 'Plugins, as in the output of `krmhub plugins list`. Default: all.')
    .option('--dry-run', 'Print the changes, but do not apply them.')
    .option('--yes', 'Do not ask for confirmation.')
    .option('--offline', 'Use only the cache, not the network.')
    .addHelpText(
      'after',
      `
The command prints the changes of each plugin, and asks for confirmation if
stdin is a terminal. Permissions from the installation still apply. A plugin
whose function needs more permissions does not change until you allow them.

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
  withOutput(withFolder(parent.command('remove')))
    .summary('Remove plugins.')
    .description('Remove plugins that krmhub installed. Other files do not change.')
    .argument('[names...]', 'Plugins, as in the output of `krmhub plugins list`.')
    .option('--all', 'Remove all plugins that krmhub installed.')
    .option('--force', 'Also remove plugins that changed after the installation.')
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
