import type { Command } from 'commander';
import type { RepoOptions } from '../artifacts/list-repositories.js';
import type { Io } from '../io/io.js';
import { withArtifact, withOutput } from './options.js';

export function registerRepo(program: Command, io: Io): void {
  const repo = program
    .command('repo')
    .summary('List OCI repositories and tags.')
    .description('List the repositories of an OCI registry, and the tags of a repository.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub repo list
  krmhub repo tags example.com/SetLabels`,
    );
  withOutput(withArtifact(repo.command('list')))
    .summary('List the repositories of a registry.')
    .description('List the repositories of an OCI registry.')
    .argument('[host]', 'HOST or HOST:PORT. Default: the krmhub registry.')
    .addHelpText(
      'after',
      `
A krmhub registry has a repository for each function (functions/GROUP/KIND, with
the releases as tags) and for each catalog (catalogs/NAME, with the serials of
its snapshots), besides those that users push. Not every OCI registry lists its
repositories; those of large hosting services do not.

Examples:
  krmhub repo list
  krmhub repo list localhost:5000 -o json`,
    )
    .action(async (host: string | undefined, options: RepoOptions) => {
      const { listRepositories } = await import('../artifacts/list-repositories.js');
      await listRepositories(io, host, options);
    });
  withOutput(withArtifact(repo.command('tags')))
    .summary('List the tags of a repository.')
    .description('List the tags of an OCI repository, or of a function in the krmhub registry.')
    .argument('<repository>', 'GROUP/KIND or HOST/REPOSITORY.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub repo tags example.com/SetLabels
  krmhub repo tags localhost:5000/team/catalog`,
    )
    .action(async (repository: string, options: RepoOptions) => {
      const { listTags } = await import('../artifacts/list-repositories.js');
      await listTags(io, repository, options);
    });
}
