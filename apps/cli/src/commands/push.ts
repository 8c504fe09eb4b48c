import { type Command, InvalidArgumentError } from 'commander';
import type { PushOptions } from '../artifacts/push-artifact.js';
import type { Io } from '../io/io.js';
import { platformOf, withOutput, withPlainHttp } from './options.js';

export function registerPush(program: Command, io: Io): void {
  withOutput(withPlainHttp(program.command('push')))
    .description('Push a catalog, definition, script or executables to any OCI registry.')
    .argument('<file...>', 'The file, then where it goes: HOST/REPOSITORY:TAG.')
    .option(
      '--exec <[platform=]file>',
      'An executable, such as linux/amd64=./set-labels; once for each platform.',
      executable,
    )
    .option('--annotation <name=value>', 'An annotation of the manifest; can be repeated.', annotation)
    .addHelpText(
      'after',
      `
Catalogs and definitions are linted first. The same file has the same digest
each time it is pushed: SOURCE_DATE_EPOCH gives the time of its making, else
it is 1970. Log in with docker login, oras login or the like; the token of your
krmhub registry is taken for itself. docs/oci-artifacts.md shows what is pushed.

Examples:
  krmhub push catalog.yaml registry.example.com/team/catalog:v1
  krmhub push definition.yaml registry.example.com/team/set-labels:1.0.0
  krmhub push set-labels.star registry.example.com/team/script:1.0.0
  krmhub push --exec linux/amd64=bin/set-labels localhost:5000/team/exec:1.0.0`,
    )
    .action(async (args: string[], options: PushOptions) => {
      const { pushArtifact } = await import('../artifacts/push-artifact.js');
      await pushArtifact(io, args, options);
    });
}

function executable(value: string, previous: PushOptions['exec'] = []): PushOptions['exec'] {
  const match = /^([a-z0-9]+\/[a-z0-9]+)=(.+)$/s.exec(value);
  if (match === null) return [...previous, { file: value }];
  return [...previous, { platform: platformOf(match[1]!), file: match[2]! }];
}

function annotation(value: string, previous: Record<string, string> = {}): Record<string, string> {
  const equals = value.indexOf('=');
  if (equals <= 0) throw new InvalidArgumentError('Write it as name=value.');
  return { ...previous, [value.slice(0, equals)]: value.slice(equals + 1) };
}
