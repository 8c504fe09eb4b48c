import path from 'node:path';
import { defined } from '@krmhub/schema/defined';
import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { type ResolutionOptions, readResolution, withOutput, withResolution } from './options.js';

export function registerResolve(program: Command, io: Io): void {
  withOutput(withResolution(program.command('resolve')))
    .summary('Find what runs for a functionConfig.')
    .description('Find the catalog entry of a functionConfig, and the image or executable that runs for it.')
    .argument('<apiVersion>', 'API version of the functionConfig, as GROUP/VERSION.', parseApiVersion)
    .argument('<kind>', 'Kind of the functionConfig.')
    .option('--platforms', 'Ask the registry of an image for its platforms.')
    .addHelpText(
      'after',
      `
The command searches the catalogs in order. The first entry with this API
version and kind wins, and later catalogs are not read. Tags are resolved to
digests.

The cache is KRMHUB_CACHE, else ~/.cache/krmhub. --offline uses only the cache.
If --lock or the krmhub.lock of this folder locks the function for these
catalogs, the command uses the lock as \`krmhub build\` does. --frozen uses only
the lock and the cache.

Examples:
  krmhub resolve example.com/v1alpha1 SetLabels -c default
  krmhub resolve example.com/v1alpha1 SetLabels -c catalog.yaml -c default`,
    )
    .action(
      async (
        apiVersion: string,
        kind: string,
        options: ResolutionOptions & { output: OutputFormat; platforms?: boolean },
      ) => {
        const { resolveFunction } = await import('../resolve/resolve-function.js');
        const { openLock, packageSettings } = await import('../lock/open-lock.js');
        const { output, platforms = false, frozen = false } = options;
        const folder = options.lock === undefined ? '.' : path.dirname(options.lock);
        const lock = await openLock(io, { folder, lock: options.lock, frozen });
        await resolveFunction(
          io,
          { apiVersion, kind },
          {
            ...(await readResolution(io, options)),
            ...(await packageSettings(io, path.resolve(io.cwd, folder))),
            ...defined({ lock }),
            output,
            platforms,
          },
        );
      },
    );
}

function parseApiVersion(value: string): string {
  if (/^[^/\s]+\/[^/\s]+$/.test(value)) return value;
  throw new InvalidArgumentError('Use GROUP/VERSION, for example example.com/v1.');
}
