import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import {
  type ResolutionOptions,
  type RunningOptions,
  readResolution,
  readRunning,
  withResolution,
  withRunning,
} from './options.js';

interface BuildCommandOptions extends ResolutionOptions, RunningOptions {
  kustomize?: string;
}

export function registerBuild(program: Command, io: Io): void {
  withRunning(withResolution(program.command('build')))
    .summary('Build a kustomization with functions of catalogs.')
    .description(
      'Build a kustomization or Composition with kustomize or kubectl, and run the functions that its catalogs name.',
    )
    .argument('<dir>', 'Folder with a kustomization.yaml or a composition.yaml.')
    .argument('[arguments...]', 'After --: flags for kustomize.')
    .option('--kustomize <program>', 'Program that builds. Default: kustomize on PATH, else kubectl.')
    .addHelpText(
      'after',
      `
To see what would run, use \`krmhub explain\` first. A catalog that the
kustomization names runs nothing until you trust it with --trusted-catalog.

kustomize builds a temporary copy, so your files do not change. The output is
that of kustomize with the runtimes written into the files by hand.

A function that names its own runtime still needs the flags of kustomize after
--, as in the last example. Executables also run where kubectl builds.

Examples:
  krmhub build app --trusted-catalog https://krm.example.com/catalogs/default
  krmhub build app -c catalog.yaml --kustomize kubectl
  krmhub build app -c catalog.yaml --network --engine podman
  krmhub build app -c catalog.yaml --allow-exec --timeout 1m
  krmhub build app -c catalog.yaml --frozen
  krmhub build app -c catalog.yaml -- --enable-alpha-plugins --enable-exec`,
    )
    .action(async (folder: string, args: string[], options: BuildCommandOptions) => {
      const { buildKustomization } = await import('../kustomize/build/build-kustomization.js');
      await buildKustomization(io, folder, {
        resolution: readResolution(options),
        permissions: readRunning(options, io.cwd),
        frozen: options.frozen === true,
        arguments: args,
        ...(options.lock === undefined ? {} : { lock: options.lock }),
        ...(options.kustomize === undefined ? {} : { kustomize: options.kustomize }),
      });
    });
}
