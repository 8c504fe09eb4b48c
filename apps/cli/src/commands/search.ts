import type { SearchOrder } from '@krmhub/api/parameters';
import { RUNTIME_KINDS } from '@krmhub/schema/definition';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { SearchOptions } from '../functions/search-functions.js';
import type { Io } from '../io/io.js';
import { collect, countUpTo, withOutput, withRegistry } from './options.js';

const ORDERS: readonly SearchOrder[] = ['relevance', 'name', 'newest'];
/** The largest page of the registry. */
const MAX_RESULTS = 100;

export function registerSearch(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('search')))
    .summary('Search for functions.')
    .description('Search for functions by words, tags, kind, and other properties.')
    .argument('[text...]', 'Words to search for. The start of a word is enough.')
    .option('--tag <tag>', 'Functions with this tag. All filters are repeatable.', collect)
    .option('--kind <kind>', 'Functions of this kind.', collect)
    .option('--group <group>', 'Functions of this group.', collect)
    .option('--publisher <name>', 'Functions of this publisher.', collect)
    .addOption(
      new Option('--runtime <kind>', 'Functions with this runtime.')
        .choices(RUNTIME_KINDS)
        .argParser((value: string, earlier: string[] | undefined) => collectRuntime(value, earlier)),
    )
    .option('--license <license>', 'Functions with this license (SPDX).', collect)
    .option('--api-version <version>', 'Functions with this apiVersion, as GROUP/VERSION.', collect)
    .addOption(fact('pinned', 'Functions whose code is pinned by digest, or is not.'))
    .addOption(fact('network', 'Functions that may use the network, or may not.'))
    .addOption(fact('storage', 'Functions that may use your files, or may not.'))
    .option('--signed-by <signer>', 'Functions that this key or identity signed.', collect)
    .option('--catalog <name>', 'Functions in this catalog.', collect)
    .addOption(new Option('--sort <order>', 'Order of the results.').choices(ORDERS))
    .option('--limit <count>', `Maximum number of results, up to ${MAX_RESULTS}.`, countUpTo(MAX_RESULTS), 20)
    .addOption(new Option('--all', 'Print all results.').conflicts('limit'))
    .addHelpText(
      'after',
      `
If a function exists only in upstream catalogs, its description starts with
(SOURCE in CATALOG). Its release is unknown, because catalog entries do not
contain releases.

Examples:
  krmhub search set labels
  krmhub search --tag mutator
  krmhub search --sort newest --limit 5
  krmhub search --kind SetLabels -o json
  krmhub search --pinned true --network false
  krmhub search --runtime exec --license MIT --all`,
    )
    .action(async (words: string[], options: SearchOptions) => {
      const { searchFunctions } = await import('../functions/search-functions.js');
      await searchFunctions(io, words, options);
    });
}

function collectRuntime(value: string, earlier: string[] | undefined): string[] {
  if ((RUNTIME_KINDS as readonly string[]).includes(value)) return collect(value, earlier);
  throw new InvalidArgumentError(`Use one of: ${RUNTIME_KINDS.join(', ')}.`);
}

/** A filter by a fact of the release. */
function fact(name: string, description: string): Option {
  return new Option(`--${name} <boolean>`, description)
    .choices(['true', 'false'])
    .argParser((value: string, earlier: string[] | undefined) => {
      if (value === 'true' || value === 'false') return collect(value, earlier);
      throw new InvalidArgumentError('Use true or false.');
    });
}
