import { CI_PROVIDERS } from '@krmhub/schema/documents/ci-providers';
import { type Command, Option } from 'commander';
import type { Io } from '../io/io.js';
import type { AddOptions, PublisherOptions } from '../registry/trusted-publishers.js';
import { collect, withOutput, withRegistry } from './options.js';

export function registerPublisher(program: Command, io: Io): void {
  const publisher = program
    .command('publisher')
    .summary('Let CI workflows publish without a stored secret.')
    .description(
      'Say which CI workflows may publish in a group: trusted publishers. A run of such a workflow shows the token that its provider signed, and needs no stored secret.',
    )
    .addHelpText(
      'after',
      `
Examples:
  krmhub publisher add example.com --github example/functions --workflow release.yml
  krmhub publisher list example.com
  krmhub publisher check example.com claims.json`,
    );
  registerAdd(publisher, io);
  registerList(publisher, io);
  registerCheck(publisher, io);
  registerRemove(publisher, io);
}

function registerAdd(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('add')))
    .summary('Let a workflow publish in a group.')
    .description('Let a workflow publish in a group, or one function of it. It needs the owner of the group.')
    .argument('<target>', 'GROUP, or GROUP/KIND for one function.')
    .option('--github <repository>', 'Repository on GitHub, for example example/functions.')
    .option('--gitlab <project>', 'Path of a project on GitLab, for example example/functions.')
    .option('--workflow <file>', 'File of the workflow in .github/workflows.')
    .option('--environment <name>', 'Environment of the job, which can require reviewers.')
    .option('--ref <pattern>', 'Branch or tag, for example refs/tags/*.')
    .addOption(new Option('--provider <name>', 'Another provider.').choices(CI_PROVIDERS))
    .option('--set <name=value>', 'Setting of the provider. Repeatable.', collect)
    .option('--id <name=value>', 'ID that the provider never gives twice. Repeatable.', collect)
    .option('--issuer <url>', 'Issuer of the tokens, for a server of your own.')
    .option('--keys <file>', 'Keys of the issuer (JWKS), if the registry cannot reach it.')
    .addHelpText(
      'after',
      `
The IDs of the repository and of its owner must stay the same: who registers
the name again gets nothing. This command asks GitHub or GitLab for them; for a
private repository set GH_TOKEN or GITLAB_TOKEN. With --id, it asks nobody.
Otherwise the first run sets them. A publisher must be used within 30 days.

\`krmhub help trusted-publishing\` has the settings of each provider.

Exit codes: 0 added, 1 it exists, 6 not the owner.

Examples:
  krmhub publisher add example.com --github example/functions --workflow release.yml
  krmhub publisher add example.com/SetLabels --gitlab example/functions --ref "refs/tags/*"
  krmhub publisher add example.com --provider google --set subject=1137742644630`,
    )
    .action(async (target: string, options: AddOptions) => {
      const { addPublisher } = await import('../registry/trusted-publishers.js');
      await addPublisher(io, target, options);
    });
}

function registerList(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('list')))
    .summary('List the workflows that may publish.')
    .description(
      'List the workflows that may publish in a group. Administrators can list those of all groups.',
    )
    .argument('[group]', 'Only of this group.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub publisher list example.com
  krmhub publisher list -o json`,
    )
    .action(async (group: string | undefined, options: PublisherOptions) => {
      const { listPublishers } = await import('../registry/trusted-publishers.js');
      await listPublishers(io, group, options);
    });
}

function registerCheck(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('check')))
    .summary('Explain why a token of a provider is accepted or refused.')
    .description(
      'Compare a token of a provider with the publishers of a group, and name each claim that differs. The token can be decoded. It is not sent, only its claims are, and they are not verified.',
    )
    .argument('<target>', 'GROUP, or GROUP/KIND for one function.')
    .argument('<file>', 'A token, or its claims as JSON; - for stdin.')
    .addHelpText(
      'after',
      `
Exit codes: 0 a publisher matches, 1 none does.

Example:
  krmhub publisher check example.com claims.json`,
    )
    .action(async (target: string, file: string, options: PublisherOptions) => {
      const { checkPublishers } = await import('../registry/trusted-publishers.js');
      await checkPublishers(io, target, file, options);
    });
}

function registerRemove(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('remove')))
    .summary('End that a workflow may publish.')
    .description('End that a workflow may publish. Tokens that it has end at once.')
    .argument('<id>', 'ID of the publisher, from `krmhub publisher list`.')
    .addHelpText(
      'after',
      `
Example:
  krmhub publisher remove 0a1b2c3d-0000-4000-8000-000000000001`,
    )
    .action(async (id: string, options: PublisherOptions) => {
      const { removePublisher } = await import('../registry/trusted-publishers.js');
      await removePublisher(io, id, options);
    });
}
