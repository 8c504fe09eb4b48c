import { defined } from '@krmhub/schema/defined';
import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import {
  kustomizeOption,
  REQUIRE_DIGEST,
  type ResolutionOptions,
  type RunningOptions,
  readResolution,
  readRunning,
  splitArguments,
  withResolution,
  withRunning,
} from './options.js';

interface BuildCommandOptions extends ResolutionOptions, RunningOptions {
  kustomize?: string;
  requireDigest?: boolean;
}

export function registerBuild(program: Command, io: Io): void {
  withRunning(withResolution(program.command('build')))
    .summary('Build a kustomization with functions from catalogs.')
    .description(
      'Build a kustomization or Composition with kustomize or kubectl, and run the functions of its catalogs.',
    )
    .usage('[options] [DIR] [-- FLAGS...]')
    .argument(
      '[arguments...]',
      'Folder with a kustomization.yaml or a composition.yaml. Default: the current folder. Flags for kustomize after --.',
    )
    .addOption(kustomizeOption())
    .option('--require-digest', REQUIRE_DIGEST)
    .addHelpText(
      'after',
      `
First, show what would run with \`krmhub explain\`. Functions of a catalog in the
kustomization run only if you trust the catalog with --trusted-catalog.

kustomize builds a temporary copy, so your files do not change. The output is
the same as from kustomize if you add the runtimes to the files manually.

A functionConfig with its own runtime needs the flags of kustomize after --, as
in the last example. With kubectl, such a function can also be an executable.

Examples:
  krmhub build app --trusted-catalog https://krm.example.com/catalogs/default
  krmhub build app -c catalog.yaml --kustomize kubectl
  krmhub build app -c catalog.yaml --network --engine podman
  krmhub build app -c catalog.yaml --allow-exec --timeout 1m
  krmhub build app -c catalog.yaml --frozen
  krmhub build app -c catalog.yaml -- --enable-alpha-plugins --enable-exec`,
    )
    .action(async (args: string[], options: BuildCommandOptions, command: Command) => {
      const { own, following } = splitArguments(command, args);
      if (own.length > 1) {
        command.error('error: several folders; build one, and write flags of kustomize after --');
      }
      const { buildKustomization } = await import('../kustomize/run/build-kustomization.js');
      await buildKustomization(io, own[0] ?? '.', {
        resolution: await readResolution(io, options),
        permissions: readRunning(options, io.cwd),
        frozen: options.frozen === true,
        requireDigest: options.requireDigest === true,
        arguments: following,
        ...defined({ lock: options.lock, kustomize: options.kustomize }),
      });
    });
}
