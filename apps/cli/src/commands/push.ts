import { type Command, InvalidArgumentError } from 'commander';
import type { PushOptions } from '../artifacts/push-artifact.js';
import type { Io } from '../io/io.js';
import { parsePlatform, withOutput, withPlainHttp } from './options.js';

export function registerPush(program: Command, io: Io): void {
  withOutput(withPlainHttp(program.command('push')))
    .summary('Push a file to an OCI registry.')
    .description('Push a catalog, definition, script, executables, or manifests to any OCI registry.')
    .argument('<file...>', 'File to push, followed by its target: HOST/REPOSITORY:TAG.')
    .option(
      '--exec <[platform=]file>',
      'Executable, for example linux/amd64=./set-labels. Repeatable per platform.',
      collectExecutable,
    )
    .option(
      '--flux <folder>',
      'Manifests for Flux, in the format of `flux push artifact`: a folder, a file, or - for stdin.',
    )
    .option('--source <url>', 'Source repository of the content: org.opencontainers.image.source.')
    .option(
      '--revision <revision>',
      'Source revision, for example main@sha1:…: org.opencontainers.image.revision.',
    )
    .option('--annotation <name=value>', 'Annotation of the manifest. Repeatable.', collectAnnotation)
    .addHelpText(
      'after',
      `
The command lints catalogs, definitions, and scripts first. If a definition has
a script as a path, the command also pushes the script, to REPOSITORY/script.
The same file always gets the same digest: the creation time is 1970, or the
value of SOURCE_DATE_EPOCH. For a krmhub registry, the command uses the token of
krmhub login. For other registries, log in with docker login or oras login: see
krmhub docs credentials.
--flux skips hidden files. For the artifacts, see krmhub docs oci-artifacts. For
Flux, see krmhub docs flux.

Examples:
  krmhub push catalog.yaml registry.example.com/team/catalog:v1
  krmhub push definition.yaml registry.example.com/team/set-labels:1.0.0
  krmhub push set-labels.star registry.example.com/team/script:1.0.0
  krmhub push --exec linux/amd64=bin/set-labels localhost:5000/team/exec:1.0.0
  krmhub push --flux rendered registry.example.com/team/app:v1`,
    )
    .action(async (args: string[], options: PushOptions) => {
      const { pushArtifact } = await import('../artifacts/push-artifact.js');
      await pushArtifact(io, args, options);
    });
}

function collectExecutable(value: string, previous: PushOptions['exec'] = []): PushOptions['exec'] {
  const match = /^([a-z0-9]+\/[a-z0-9]+)=(.+)$/s.exec(value);
  if (match === null) return [...previous, { file: value }];
  return [...previous, { platform: parsePlatform(match[1]!), file: match[2]! }];
}

function collectAnnotation(value: string, previous: Record<string, string> = {}): Record<string, string> {
  const equals = value.indexOf('=');
  if (equals <= 0) throw new InvalidArgumentError('Use NAME=VALUE.');
  return { ...previous, [value.slice(0, equals)]: value.slice(equals + 1) };
}
