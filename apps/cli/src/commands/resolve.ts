import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from '../io/io.js';
import type { OutputFormat } from '../io/print.js';
import { type ResolutionOptions, readResolution, withOutput, withResolution } from './options.js';

export function registerResolve(program: Command, io: Io): void {
  withOutput(withResolution(program.command('resolve')))
    .summary('Find what runs for a functionConfig.')
    .description('Find the catalog entry for a functionConfig, and what exactly runs for it.')
    .argument('<apiVersion>', 'API version of the functionConfig, as GROUP/VERSION.', parseApiVersion)
    .argument('<kind>', 'Kind of the functionConfig.')
    .option('--platforms', 'Ask the registry of an image for its platforms.')
    .addHelpText(
      'after',
      `
Catalogs are searched in order; the first entry with this API version and kind
wins. A catalog that is not needed is not read. Tags become digests.

What was read is stored in KRMHUB_CACHE, else in ~/.cache/krmhub; --offline uses
only that.
A function that is locked for these catalogs, in --lock or in the krmhub.lock of
this folder, is resolved as in \`krmhub build\`; --frozen uses nothing else.

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
        const { openLock } = await import('../lock/open-lock.js');
        const { output, platforms = false, frozen = false } = options;
        const lock = await openLock(io, { folder: '.', lock: options.lock, frozen });
        await resolveFunction(
          io,
          { apiVersion, kind },
          { ...readResolution(options), ...(lock === undefined ? {} : { lock }), output, platforms },
        );
      },
    );
}

function parseApiVersion(value: string): string {
  if (/^[^/\s]+\/[^/\s]+$/.test(value)) return value;
  throw new InvalidArgumentError('Write GROUP/VERSION, for example example.com/v1.');
}
