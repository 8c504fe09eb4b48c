import { Argument, type Command } from 'commander';
import type { Io } from '../io/io.js';
import type { HelperAction } from '../registry/docker-helper.js';

const ACTIONS: readonly HelperAction[] = ['get', 'list', 'store', 'erase'];

export function registerDockerCredential(program: Command, io: Io): void {
  program
    .command('docker-credential')
    .summary('Give docker the token of a registry.')
    .description('Be a credential helper of docker, which finds the tokens of krmhub.')
    .addArgument(new Argument('<action>', 'What docker asks for.').choices(ACTIONS))
    .addHelpText(
      'after',
      `
docker, podman, skopeo, crane, oras, regctl, and cosign start it as
docker-credential-krmhub, for the registries in ~/.docker/config.json:

  {"credHelpers": {"krm.example.com": "krmhub"}}

get reads the registry from stdin, and prints KRMHUB_TOKEN or the token of
krmhub login, if it is for that registry. list prints the registries. store
saves a token as krmhub login does, and erase removes it as krmhub logout does.
store refuses what is not a token of a krmhub registry. See krmhub docs
credentials.

Examples:
  echo krm.example.com | krmhub docker-credential get
  krmhub docker-credential list < /dev/null`,
    )
    .action(async (action: HelperAction) => {
      const { runDockerHelper } = await import('../registry/docker-helper.js');
      await runDockerHelper(io, action);
    });
}
