import type { SearchOrder } from '@krmhub/api/parameters';
import { SEARCH_SYNTAX } from '@krmhub/api/search-syntax';
import { describeFacet, FACET_NAMES, type FacetName } from '@krmhub/schema/facets';
import { kebabCase } from '@krmhub/schema/kebab-case';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { SearchOptions } from '../functions/search-functions.js';
import type { Io } from '../io/io.js';
import { collect, countUpTo, withOutput, withRegistry } from './options.js';

const ORDERS: readonly SearchOrder[] = ['relevance', 'name', 'newest'];
/** The largest page of the registry. */
const MAX_RESULTS = 100;

export function registerSearch(program: Command, io: Io): void {
  const command = withOutput(withRegistry(program.command('search')))
    .summary('Search for functions.')
    .description('Search for functions by words, tags, kind, and other properties.')
    .argument('[text...]', 'Words to search for. The start of a word is enough.');
  for (const name of FACET_NAMES) command.addOption(filter(name));
  command
    .addOption(new Option('--sort <order>', 'Order of the results.').choices(ORDERS))
    .option('--limit <count>', `Maximum number of results, up to ${MAX_RESULTS}.`, countUpTo(MAX_RESULTS), 20)
    .addOption(new Option('--all', 'Print all results.').conflicts('limit'))
    .addHelpText(
      'after',
      `
What TEXT can have; quote it for the shell:
${syntaxTable()}

If a function exists only in upstream catalogs, its description starts with
(SOURCE in CATALOG). Its release is unknown, because catalog entries do not
contain releases.

Examples:
  krmhub search set labels
  krmhub search 'labels -helm is:signed'
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

function syntaxTable(): string {
  const width = Math.max(...SEARCH_SYNTAX.map(([example]) => example.length));
  return SEARCH_SYNTAX.map(([example, meaning]) => `  ${example.padEnd(width)}  ${meaning}`).join('\n');
}

/** The repeatable option of a facet, such as `--api-version <version>`. */
function filter(name: FacetName): Option {
  const { placeholder, help, values } = describeFacet(name);
  const option = new Option(`--${kebabCase(name)} <${placeholder}>`, help);
  if (values === undefined) return option.argParser(collect);
  return option.choices(values).argParser((value: string, earlier: string[] | undefined) => {
    if (values.includes(value)) return collect(value, earlier);
    throw new InvalidArgumentError(
      `Use ${values.length === 2 ? values.join(' or ') : `one of: ${values.join(', ')}`}.`,
    );
  });
}
