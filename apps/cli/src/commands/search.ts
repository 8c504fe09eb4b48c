import type { SearchRequest } from '@krmhub/api/client';
import type { FacetName, SearchItem, SearchResult } from '@krmhub/api/model';
import type { SearchOrder } from '@krmhub/api/parameters';
import { RUNTIME_KINDS } from '@krmhub/schema/definition';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printTable, say } from '../io/print.js';
import { visible } from '../io/text.js';
import { count, withOutput, withRegistry } from './options.js';

interface SearchOptions extends Partial<Record<FacetName, string[]>> {
  sort?: SearchOrder;
  limit: number;
  all?: boolean;
  output: OutputFormat;
  registry?: string;
}

const FILTERS: readonly FacetName[] = [
  'tag',
  'kind',
  'group',
  'publisher',
  'runtime',
  'license',
  'signedBy',
  'catalog',
];
const ORDERS: readonly SearchOrder[] = ['relevance', 'name', 'newest'];
/** What the registry answers at most in one page. */
const PAGE = 100;

export function registerSearch(program: Command, io: Io): void {
  withOutput(withRegistry(program.command('search')))
    .description('Find functions by words, tags, kind and more.')
    .argument('[text...]', 'Words to look for; the last letters may be missing.')
    .option('--tag <tag>', 'Functions with this tag. Filters can be repeated.', collect)
    .option('--kind <kind>', 'Functions of this kind.', collect)
    .option('--group <group>', 'Functions of this group.', collect)
    .option('--publisher <name>', 'Functions of this publisher.', collect)
    .addOption(
      new Option('--runtime <runtime>', 'Functions that run as this.')
        .choices(RUNTIME_KINDS)
        .argParser((value: string, earlier: string[] | undefined) => runtime(value, earlier)),
    )
    .option('--license <license>', 'Functions under this licence (SPDX).', collect)
    .option('--signed-by <signer>', 'Functions that this key or identity signed.', collect)
    .option('--catalog <name>', 'Functions in this catalog.', collect)
    .addOption(new Option('--sort <order>', 'What comes first.').choices(ORDERS))
    .option('--limit <count>', `How many to print, at most ${PAGE}.`, count(PAGE), 20)
    .addOption(new Option('--all', 'Print everything that is found.').conflicts('limit'))
    .addHelpText(
      'after',
      `
A function that only catalogs elsewhere have is marked with (SOURCE in CATALOG),
and its release is unknown: entries of catalogs do not say it.

Examples:
  krmhub search set labels
  krmhub search --tag mutator
  krmhub search --sort newest --limit 5
  krmhub search --kind SetLabels -o json
  krmhub search --runtime exec --license MIT --all`,
    )
    .action((words: string[], options: SearchOptions) => search(io, words, options));
}

/** Values are taken as they are: a publisher's name may hold a comma. */
function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}

function runtime(value: string, earlier: string[] | undefined): string[] {
  if ((RUNTIME_KINDS as readonly string[]).includes(value)) return collect(value, earlier);
  throw new InvalidArgumentError(`It is one of ${RUNTIME_KINDS.join(', ')}.`);
}

async function search(io: Io, words: readonly string[], options: SearchOptions): Promise<void> {
  const { connect } = await import('../registry/connection.js');
  const client = await connect(io, options.registry);
  const text = words.join(' ').trim();
  const filters = Object.fromEntries(
    FILTERS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
  const request: SearchRequest = {
    ...filters,
    ...(text === '' ? {} : { q: text }),
    ...(options.sort === undefined ? {} : { sort: options.sort }),
  };
  const first = await client.search({ ...request, limit: options.all ? PAGE : options.limit });
  const items = [...first.items];
  for (let { next } = first; options.all && next !== undefined; ) {
    const page: SearchResult = await client.search({ ...request, limit: PAGE, cursor: next });
    items.push(...page.items);
    next = page.items.length === 0 ? undefined : page.next;
  }
  const { total, facets } = first;
  await printData(io, options.output, { total, items, facets }, () => printItems(io, items));
  if (items.length === 0) await sayNothingFound(io, text, filters, first, () => client.search({ limit: 1 }));
  else if (items.length < total) {
    await say(io, `${items.length} of ${total}; --limit or --all shows more`);
  }
}

async function printItems(io: Io, items: readonly SearchItem[]): Promise<void> {
  if (items.length === 0) return;
  const columns = [
    { header: 'FUNCTION', min: 16 },
    { header: 'GROUP', min: 14 },
    { header: 'RELEASE' },
    { header: 'DESCRIPTION', min: 20 },
  ];
  await printTable(io, columns, items, {
    terminal: (item) => [item.kind, item.group, item.release ?? UNKNOWN, marked(item)],
    pipe: (item) => [
      `${item.group}/${item.kind}`,
      item.release ?? UNKNOWN,
      item.description,
      item.tags.join(','),
      ...(item.from === undefined ? [] : [placesOf(item.from)]),
    ],
  });
}

/** What stands for a release that catalogs elsewhere do not tell. */
const UNKNOWN = 'unknown';

/** For example `banana in platform`. */
function placesOf(from: NonNullable<SearchItem['from']>): string {
  return from.map(({ catalog, source }) => `${source} in ${catalog}`).join(', ');
}

/** A policy of the registry asked for a signature that does not hold, or not any more. */
function marked({ yanked, deprecated, signature, description, from }: SearchItem): string {
  const distrusted = !signature.trusted && signature.policy !== undefined;
  const place =
    from?.[0] === undefined ? '' : `(${placesOf(from.slice(0, 1))}${from.length > 1 ? ', …' : ''}) `;
  return `${place}${distrusted ? '(not trusted) ' : ''}${yanked ? '(yanked) ' : ''}${deprecated ? '(deprecated) ' : ''}${description}`;
}

async function sayNothingFound(
  io: Io,
  text: string,
  filters: Partial<Record<FacetName, string[]>>,
  found: SearchResult,
  searchAll: () => Promise<SearchResult>,
): Promise<void> {
  const asked = [
    ...(text === '' ? [] : [JSON.stringify(text)]),
    ...Object.entries(filters).flatMap(([name, values]) => values.map((value) => `${name} ${value}`)),
  ];
  if (asked.length === 0) {
    await say(io, 'the registry has no functions yet; publish one with `krmhub publish`');
    return;
  }
  await say(io, visible(`nothing is found for ${asked.join(', ')}`));
  // The facets of an empty result tell what the other filters would find; without any, what there is at all.
  const tags = found.facets.tag.length > 0 ? found.facets.tag : (await searchAll()).facets.tag;
  if (tags.length === 0) return;
  const frequent = tags.slice(0, 8).map(({ value, count }) => `${value} (${count})`);
  await say(io, visible(`  tags here: ${frequent.join(', ')}`));
}
