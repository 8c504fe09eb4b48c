import type { SearchItem, SearchResult } from '@krmhub/api/model';
import { type FacetName, NOT_VERIFIED } from '@krmhub/schema/facets';
import { CATALOGS, catalogPath, docsPath, RELEASES_FEED, searchPath } from '../addresses.js';
import { counted } from '../counted.js';
import { FacetText } from '../parts/facet-text.js';
import { SearchBox } from '../parts/search-box.js';
import { Time } from '../parts/time.js';
import { SearchResultItem } from '../search/search-result.js';
import { useSite } from '../site.js';
import { CommandLine } from './command-line.js';
import { Picture } from './picture.js';

/** Data of the first page. */
export interface HomeData {
  /** Functions that the search finds. */
  total: number;
  facets: SearchResult['facets'];
  /** The operator chose them. */
  highlights: readonly SearchItem[];
  /** Newest first. */
  newest: readonly SearchItem[];
  /** Without releases here. A registry with many releases shows none. */
  upstream: readonly SearchItem[];
  catalogs: readonly { name: string; functions?: number; builtAt?: string }[];
}

/** Facets on the first page, with the maximum number of their values. */
const BROWSE_FACETS = [
  { name: 'tag', title: 'Tags', values: 12 },
  { name: 'runtime', title: 'Runtimes', values: 3 },
  { name: 'group', title: 'Groups', values: 6 },
  { name: 'owner', title: 'Owners', values: 6 },
  { name: 'signedBy', title: 'Signed by', values: 6 },
] as const satisfies readonly { name: FacetName; title: string; values: number }[];

const MAX_CATALOGS = 6;

export function HomePage({ shown }: { shown: HomeData }) {
  const { at } = useSite();
  const { total, facets, highlights, newest, upstream, catalogs } = shown;
  return (
    <div class="home">
      <div class="home-intro">
        <div>
          <h1>A registry of KRM functions</h1>
          <p class="lead">
            A KRM function is a program that changes, checks, or generates Kubernetes manifests. kustomize,
            kpt, or krmhub gives it the manifests of a folder and a configuration, and writes what it returns.
            This registry keeps each release as it was published, and shows who signed it, what runs, and what
            it may touch. A signature says where a release comes from, and not that it is safe.
          </p>
          <SearchBox id="search" isLarge />
          <p class="home-counts">
            <a href={at(searchPath())}>{counted(total, 'function')}</a> in{' '}
            <a href={at(CATALOGS)}>{counted(catalogs.length, 'catalog')}</a>, and{' '}
            <a href={at(docsPath('use'))}>how to use them</a>
          </p>
        </div>
        <Picture />
      </div>
      <Highlights items={highlights} />
      <div class="home-columns">
        <div>
          <Newest items={newest} />
          <Upstream items={upstream} />
        </div>
        <div>
          <Browse facets={facets} />
          <Catalogs catalogs={catalogs} />
          <CommandLine sample={highlights[0] ?? newest[0] ?? upstream[0]} />
        </div>
      </div>
    </div>
  );
}

function Highlights({ items }: { items: readonly SearchItem[] }) {
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="highlights">
      <h2 id="highlights">Highlights</h2>
      <ul class="found-list highlights">
        {items.map((item) => (
          <SearchResultItem item={item} />
        ))}
      </ul>
    </section>
  );
}

function Browse({ facets }: Pick<HomeData, 'facets'>) {
  const { at } = useSite();
  return (
    <section aria-labelledby="browse">
      <h2 id="browse">Browse</h2>
      <dl class="browse">
        {BROWSE_FACETS.map(({ name, title, values }) =>
          facets[name].every(({ value }) => value === NOT_VERIFIED) ? null : (
            <div>
              <dt>{title}</dt>
              <dd>
                <ul class="tags">
                  {facets[name].slice(0, values).map(({ value, text = value, count }) => (
                    <li>
                      <a href={at(searchPath({ [name]: [value] }))}>
                        <FacetText facet={name} value={text} max={60} />{' '}
                        <span class="quiet">{count.toLocaleString('en')}</span>
                      </a>
                    </li>
                  ))}
                </ul>
              </dd>
            </div>
          ),
        )}
      </dl>
    </section>
  );
}

function Newest({ items }: { items: readonly SearchItem[] }) {
  const { at } = useSite();
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="newest">
      <h2 id="newest">Newest releases</h2>
      <ol class="found-list">
        {items.map((item) => (
          <SearchResultItem item={item} />
        ))}
      </ol>
      <p>
        <a href={at(searchPath({ sort: 'newest' }))}>All functions, newest first</a>, or their{' '}
        <a href={at(RELEASES_FEED)}>feed</a>
      </p>
    </section>
  );
}

function Upstream({ items }: { items: readonly SearchItem[] }) {
  const { at } = useSite();
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="upstream">
      <h2 id="upstream">Functions from upstream catalogs</h2>
      <ol class="found-list">
        {items.map((item) => (
          <SearchResultItem item={item} />
        ))}
      </ol>
      <p>
        <a href={at(searchPath({ sort: 'name' }))}>All functions, by name</a>
      </p>
    </section>
  );
}

function Catalogs({ catalogs }: Pick<HomeData, 'catalogs'>) {
  const { at } = useSite();
  return (
    <section aria-labelledby="catalogs">
      <h2 id="catalogs">Catalogs</h2>
      <ul class="home-catalogs">
        {catalogs.slice(0, MAX_CATALOGS).map(({ name, functions, builtAt }) => (
          <li>
            <a href={at(catalogPath(name))}>{name}</a>{' '}
            <span class="quiet">
              {functions === undefined ? 'not built yet' : counted(functions, 'function')}
              {builtAt === undefined ? null : (
                <>
                  , <Time at={builtAt} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {catalogs.length <= MAX_CATALOGS ? null : (
        <p>
          <a href={at(CATALOGS)}>All {catalogs.length} catalogs</a>
        </p>
      )}
    </section>
  );
}
