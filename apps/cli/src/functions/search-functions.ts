import type { RegistryClient, SearchRequest } from '@krmhub/api/client';
import type { SearchItem, SearchResult } from '@krmhub/api/model';
import type { SearchOrder } from '@krmhub/api/parameters';
import { ownerText, PROOF_MISSING } from '@krmhub/catalog/access/owner-text';
import { defined } from '@krmhub/schema/defined';
import { formatReplacement } from '@krmhub/schema/documents/replacement';
import { FACET_NAMES, type FacetName, NOT_VERIFIED } from '@krmhub/schema/facets';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../io/print.js';

export interface SearchOptions extends Partial<Record<FacetName, string[]>> {
  sort?: SearchOrder;
  limit: number;
  all?: boolean;
  output: OutputFormat;
  registry?: string;
}

/** The largest page of the registry. */
export const PAGE_SIZE = 100;

export async function searchFunctions(
  io: Io,
  words: readonly string[],
  options: SearchOptions,
): Promise<void> {
  const [{ connect }, { searchPages }] = await Promise.all([
    import('../registry/connection.js'),
    import('@krmhub/api/read-pages'),
  ]);
  const client = await connect(io, options.registry);
  const text = words
    .map((word) => word.trim())
    .join(' ')
    .trim();
  const filters = Object.fromEntries(
    FACET_NAMES.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
  const request: SearchRequest = {
    ...filters,
    ...defined({ q: text === '' ? undefined : text, sort: options.sort }),
  };
  const pages: SearchResult[] = [];
  for await (const page of searchPages(client, {
    ...request,
    limit: options.all ? PAGE_SIZE : options.limit,
  })) {
    pages.push(page);
    if (!options.all) break;
  }
  const [first] = pages as [SearchResult, ...SearchResult[]];
  const items = pages.flatMap((page) => page.items);
  const { total, facets, corrected, partial } = first;
  if (corrected !== undefined) {
    await printLine(
      io,
      `no function has the words "${escapeControls(text)}": showing results for "${escapeControls(corrected)}"`,
    );
  }
  if (partial === true)
    await printLine(
      io,
      `no function has all of the words "${escapeControls(text)}": showing those with most of them`,
    );
  const result = { total, items, facets, ...defined({ corrected, partial }) };
  await printData(io, options.output, result, () => printItems(io, items));
  if (items.length === 0) await printNothingFound(io, text, filters, first, client);
  else if (items.length < total) {
    await printLine(io, `showing ${items.length} of ${total}; use --limit or --all to show more`);
  }
}

async function printItems(io: Io, items: readonly SearchItem[]): Promise<void> {
  if (items.length === 0) return;
  const columns = [
    { header: 'FUNCTION', min: 16 },
    { header: 'GROUP', min: 14 },
    { header: 'RELEASE' },
    { header: 'OWNER', min: 12 },
    { header: 'DESCRIPTION', min: 20 },
  ];
  await printTable(io, columns, items, {
    terminal: (item) => [
      item.kind,
      item.group,
      item.release ?? (item.imageTag === undefined ? UNKNOWN : `(${item.imageTag})`),
      // Without the claim of the definition, which leaves no place for the description.
      item.owner?.displayName ?? NOT_VERIFIED,
      describeItem(item),
    ],
    pipe: (item) => [
      `${item.group}/${item.kind}`,
      item.release ?? UNKNOWN,
      stateMarks(item) + item.description,
      item.tags.join(','),
      origins(item.from ?? []),
      ownerText(item.owner, item.publisher),
    ],
  });
}

/** Shown for functions that only upstream catalogs have. */
const UNKNOWN = 'unknown';

/** Returns, for example, `banana in platform`. */
function origins(from: NonNullable<SearchItem['from']>): string {
  return from.map(({ catalog, source }) => `${source} in ${catalog}`).join(', ');
}

/** Formats the description with its state. */
function describeItem(item: SearchItem): string {
  const { from } = item;
  const place =
    from?.[0] === undefined ? '' : `(${origins(from.slice(0, 1))}${from.length > 1 ? ', …' : ''}) `;
  const proof = item.owner?.missingSince === undefined ? '' : `(${PROOF_MISSING}) `;
  return place + proof + stateMarks(item) + item.description;
}

/** Says why not to use a function, before its description. */
function stateMarks({ yanked, deprecated, replacement, signature }: SearchItem): string {
  const use = replacement === undefined ? '' : `: use ${formatReplacement(replacement)}`;
  return [
    signature.state === 'not-trusted' ? '(not trusted) ' : '',
    yanked ? '(yanked) ' : '',
    deprecated ? `(deprecated${use}) ` : '',
  ].join('');
}

async function printNothingFound(
  io: Io,
  text: string,
  filters: Partial<Record<FacetName, string[]>>,
  found: SearchResult,
  client: RegistryClient,
): Promise<void> {
  const criteria = [
    ...(text === '' ? [] : [JSON.stringify(text)]),
    ...Object.entries(filters).flatMap(([name, values]) => values.map((value) => `${name} ${value}`)),
  ];
  if (criteria.length === 0) {
    await printLine(io, 'the registry has no functions; publish one with: krmhub publish FILE');
    return;
  }
  await printLine(io, escapeControls(`no functions found for ${criteria.join(', ')}`));
  await printUnknownCatalogs(io, filters.catalog ?? [], client);
  // The facets of an empty result show other matches; without matches, shows the tags of all functions.
  const tags =
    found.facets.tag.length > 0 ? found.facets.tag : (await client.search({ limit: 1 })).facets.tag;
  if (tags.length === 0) return;
  const frequent = tags.slice(0, 8).map(({ value, count }) => `${value} (${count})`);
  await printLine(io, escapeControls(`  tags in this registry: ${frequent.join(', ')}`));
}

/** A search in a catalog that does not exist finds nothing, so the name may be wrong. */
async function printUnknownCatalogs(io: Io, names: readonly string[], client: RegistryClient): Promise<void> {
  if (names.length === 0) return;
  const known = (await client.catalogs()).catalogs.map(({ name }) => name);
  const { suggest } = await import('@krmhub/schema/suggest');
  for (const name of names.filter((one) => !known.includes(one))) {
    const meant = suggest(name, known);
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
    await printLine(io, escapeControls(`  catalog ${name} does not exist${hint}`));
  }
}
