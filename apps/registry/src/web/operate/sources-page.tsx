import type { Source } from '@krmhub/api/model';
import { catalogPath, recipePath, type SourcesLink, sourcesPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Empty } from '../parts/empty.js';
import { Pages } from '../parts/pages.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { missingChangeScopes, useOperator } from './operator.js';
import type { Paged } from './paged.js';
import { SourceItem } from './source-item.js';

export interface SourcesPageData {
  link: SourcesLink;
  sources: Paged<Source>;
  /** Number of sources of all catalogs, or of the selected one. */
  total: number;
  problems: number;
  /** The source that was just synced. */
  asked?: Source | undefined;
}

export function SourcesPage({ shown }: { shown: SourcesPageData }) {
  const { at } = useSite();
  const lacking = missingChangeScopes(useOperator());
  const { link, sources, total, problems, asked } = shown;
  const { catalog, hasProblems = false } = link;
  const view = (name: string, isShown: boolean, other: SourcesLink) => (
    <li>
      <a href={at(sourcesPath({ catalog, ...other }))} aria-current={isShown ? 'true' : undefined}>
        {name}
      </a>
    </li>
  );
  const listed = { catalog, hasProblems };
  return (
    <>
      <h1>Sources{catalog === undefined ? null : ` of ${catalog}`}</h1>
      <p class="lead">
        The upstream catalogs of all recipes. If a sync fails, the registry serves the last good copy.
      </p>
      {asked === undefined ? null : <Asked source={asked} />}
      {lacking === undefined ? null : (
        <p>
          To sync a source, you need the scope <code>admin</code> for all groups. Your token does not have{' '}
          <Text value={lacking} />.
        </p>
      )}
      {catalog === undefined ? null : (
        <p>
          <a href={at(catalogPath(catalog))}>Catalog {catalog}</a>,{' '}
          <a href={at(recipePath(catalog))}>its recipe</a>,{' '}
          <a href={at(sourcesPath({ hasProblems }))}>sources of all catalogs</a>
        </p>
      )}
      <nav class="order" aria-label="Which sources">
        <ul>
          {view(`All (${total})`, !hasProblems, {})}
          {view(`With problems (${problems})`, hasProblems, { hasProblems: true })}
        </ul>
      </nav>
      {sources.items.length === 0 ? (
        <Empty title={hasProblems ? 'No source has problems' : 'No recipe has an upstream source'} />
      ) : (
        <ul class="operate-list">
          {sources.items.map((source) => (
            <SourceItem source={source} mayAsk={lacking === undefined} />
          ))}
        </ul>
      )}
      <Pages
        first={sources.page === 1 ? undefined : sourcesPath(listed)}
        next={sources.hasNext ? sourcesPath({ ...listed, page: sources.page + 1 }) : undefined}
      />
    </>
  );
}

function Asked({ source: { catalog, source, checkedAt, message, copy } }: { source: Source }) {
  const outcome =
    checkedAt === undefined ? 'is syncing' : message === undefined ? 'was synced' : 'could not be synced';
  return (
    <Banner
      tone={message === undefined ? 'good' : 'warning'}
      title={`The source ${source} of ${catalog} ${outcome}`}
    >
      <p>
        {checkedAt === undefined ? (
          'Reload the page later.'
        ) : (
          <>
            Last sync: <Time at={checkedAt} />.{' '}
            {message === undefined ? `${copy?.entries ?? 0} valid entries.` : <Text value={`${message}.`} />}
          </>
        )}
      </p>
      <p>
        <a href={`#${catalog}.${source}`}>Show the source</a>
      </p>
    </Banner>
  );
}
