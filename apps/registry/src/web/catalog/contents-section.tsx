import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import type { CatalogEntryRow, EntryPage, SnapshotRecord } from '@krmhub/catalog';
import type { EntryVersion } from '@krmhub/schema';
import { catalogContentsPath, catalogPath, catalogTabPath, functionPath, searchPath } from '../addresses.js';
import { counted } from '../counted.js';
import { Pages } from '../parts/pages.js';
import { ShortSigner } from '../parts/signer.js';
import { QualifiedName, Text } from '../parts/text.js';
import { useSite } from '../site.js';
import type { CatalogCounts } from './cached-counts.js';
import type { CatalogView } from './read-catalog.js';

/** Filter of a catalog's functions. */
export interface ContentsQuery {
  q?: string | undefined;
  source?: string | undefined;
  after?: string | undefined;
}

interface Contents {
  view: CatalogView;
  snapshot: SnapshotRecord;
  counts: CatalogCounts;
  query: ContentsQuery;
  contents: EntryPage;
  /** Of the functions on this page, in their order. */
  descriptions: readonly (string | undefined)[];
}

/** Maximum number of listed origins of a function's API versions; the page of the function has all. */
const MAX_ORIGINS = 4;
const MAX_VERSIONS = 8;
/** Maximum number of characters; the page of the function has all. */
const MAX_DESCRIPTION = 200;

/** Lists the functions of the newest snapshot and their sources, page by page. */
export function ContentsSection({ view, snapshot, counts, query, contents, descriptions }: Contents) {
  const { at } = useSite();
  const { catalog } = snapshot;
  const { rows: entryRows, next } = contents;
  const isFiltered = (query.q ?? '') !== '' || (query.source ?? '') !== '';
  const all = snapshot.functions.toLocaleString('en');
  const isWhole = query.after === undefined && next === undefined;
  return (
    <section aria-labelledby="contents">
      <h2 id="contents">
        Functions <span class="quiet">{isFiltered && isWhole ? `${entryRows.length} of ${all}` : all}</span>
      </h2>
      {snapshot.functions === 0 ? (
        <p>
          This snapshot has no functions.{' '}
          <a href={at(catalogTabPath(catalog, 'report'))}>What is not included, and why</a>
        </p>
      ) : (
        <>
          <Filter view={view} counts={counts} query={query} />
          {entryRows.length === 0 ? (
            <p>
              No function matches. <a href={at(catalogContentsPath(catalog, {}))}>Show all</a>
              {query.q === undefined ? null : (
                <>
                  , or{' '}
                  <a href={at(searchPath({ q: query.q, catalog: [catalog] }))}>search their descriptions</a>
                </>
              )}
              .
            </p>
          ) : (
            <ol class="places">
              {entryRows.map((row, index) => (
                <Place place={row} description={descriptions[index]} />
              ))}
            </ol>
          )}
          <Pages
            first={
              query.after === undefined ? undefined : catalogContentsPath(catalog, { ...query, after: '' })
            }
            next={
              next === undefined
                ? undefined
                : catalogContentsPath(catalog, { ...query, after: `${next.group}/${next.kind}` })
            }
          />
          {isFiltered ? null : (
            <p>
              <a href={at(searchPath({ catalog: [catalog] }))}>Search them by what they do</a>
            </p>
          )}
        </>
      )}
    </section>
  );
}

function Filter({ view, counts, query }: Pick<Contents, 'view' | 'counts' | 'query'>) {
  const { at } = useSite();
  const { name } = view.catalog;
  const sources = listSources(view, counts, query.source);
  return (
    <form class="compare-form" action={`${at(catalogPath(name))}#contents`}>
      <p>
        <label for="contents-text">Name contains</label>{' '}
        <input
          id="contents-text"
          type="search"
          name="q"
          value={query.q ?? ''}
          maxlength={REQUEST_LIMITS.maxFilterLength}
          autocapitalize="none"
          spellcheck={false}
        />
      </p>
      {sources.length < 2 ? null : (
        <p>
          <label for="contents-source">Source</label>{' '}
          <select id="contents-source" name="source">
            <option value="">all</option>
            {sources.map(({ source, count }) => (
              <option value={source} selected={source === query.source}>
                {source}, {counted(count, 'function')}
              </option>
            ))}
          </select>
        </p>
      )}
      <button type="submit">Filter</button>
      {(query.q ?? '') === '' && (query.source ?? '') === '' ? null : (
        <a href={at(catalogContentsPath(name, {}))}>Clear</a>
      )}
    </form>
  );
}

/** Returns the sources that provide functions, in the recipe's order, and the selected one. */
function listSources(
  { sources }: CatalogView,
  counts: CatalogCounts,
  chosen: string | undefined,
): { source: string; count: number }[] {
  const names = new Set([
    ...sources.map(({ name }) => name),
    ...counts.sources.keys(),
    ...(chosen === undefined || chosen === '' ? [] : [chosen]),
  ]);
  return [...names].flatMap((source) => {
    const count = counts.sources.get(source) ?? 0;
    return count > 0 || source === chosen ? [{ source, count }] : [];
  });
}

function Place({ place: row, description }: { place: CatalogEntryRow; description: string | undefined }) {
  const { at } = useSite();
  const origins = groupByOrigin(row.versions);
  return (
    <li>
      <a class="place-name" href={at(functionPath(row))}>
        <QualifiedName name={row} />
      </a>
      <div>
        {description === undefined ? null : (
          <p class="found-description">
            <Text value={description} max={MAX_DESCRIPTION} />
          </p>
        )}
        <ul class="plain-list">
          {origins.slice(0, MAX_ORIGINS).map(({ names, version }) => (
            <li>
              <Origin names={names} version={version} />
            </li>
          ))}
          {origins.length > MAX_ORIGINS ? (
            <li class="quiet">and {origins.length - MAX_ORIGINS} more</li>
          ) : null}
        </ul>
      </div>
    </li>
  );
}

function Origin({ names, version }: { names: readonly string[]; version: EntryVersion }) {
  const { release, source, signedBy, rewritten } = version;
  const more = names.length - MAX_VERSIONS;
  return (
    <ul class="found-facts">
      {release === undefined ? null : <li>{release}</li>}
      <li>
        {names.slice(0, MAX_VERSIONS).join(', ')}
        {more > 0 ? ` and ${more} more` : ''}
      </li>
      <li>
        from <Text value={source} />
      </li>
      {rewritten ? <li>references rewritten to a mirror</li> : null}
      {signedBy === undefined ? null : (
        <li>
          signed by <ShortSigner value={signedBy} max={80} />
        </li>
      )}
    </ul>
  );
}

/** Groups API versions that come from one release of one source. */
function groupByOrigin(versions: readonly EntryVersion[]): { names: string[]; version: EntryVersion }[] {
  const found = new Map<string, { names: string[]; version: EntryVersion }>();
  for (const version of versions) {
    const { source, release, definition, signedBy, rewritten } = version;
    const key = JSON.stringify([source, release, definition, signedBy, rewritten]);
    const known = found.get(key);
    if (known === undefined) found.set(key, { names: [version.name], version });
    else known.names.push(version.name);
  }
  return [...found.values()];
}
