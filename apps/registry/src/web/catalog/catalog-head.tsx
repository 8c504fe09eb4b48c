import { REPORT_REMARKS } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { CATALOG_TABS, type CatalogTab, catalogTabPath } from '../addresses.js';
import { counted } from '../counted.js';
import { Digest } from '../parts/digest.js';
import { VisibilityLabel } from '../parts/label.js';
import { type Tab, Tabs } from '../parts/tabs.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import type { CatalogCounts } from './cached-counts.js';
import { CatalogBanners } from './catalog-banners.js';
import { CatalogLabels } from './catalog-labels.js';
import { StateLabel } from './catalog-list-page.js';
import { type CatalogView, invalidEntries } from './read-catalog.js';

const TITLES: Record<CatalogTab, string> = {
  functions: 'Functions',
  sources: 'Sources',
  report: 'Not included',
  history: 'Snapshots',
  trust: 'Trust',
  recipe: 'Recipe',
};

/** Fragments of sections that the page of a catalog had before it had tabs. */
const FRAGMENTS: Partial<Record<CatalogTab, string>> = { history: 'snapshots' };

/** The top of every tab of a catalog. */
export function CatalogHead({
  view,
  counts,
  tab,
}: {
  view: CatalogView;
  counts: CatalogCounts;
  tab: CatalogTab;
}) {
  const { newest, name, appliedAt, appliedBy } = view.catalog;
  const description = view.recipe?.description;
  return (
    <div class="catalog-head">
      <CatalogBanners view={view} hasSources={tab !== 'report'} />
      <h1>
        {name} <VisibilityLabel visibility={view.visibility} /> <StateLabel view={view} />
      </h1>
      {description === undefined ? null : (
        <p class="lead">
          <Text value={description} />
        </p>
      )}
      {newest === undefined ? <p class="lead">It has no snapshot yet.</p> : null}
      <ul class="function-facts">
        {newest === undefined ? null : (
          <>
            <li>
              <strong>{counted(newest.functions, 'function')}</strong>
            </li>
            <li>snapshot {newest.serial}</li>
            <li>
              built <Time at={newest.createdAt} />
            </li>
            <li>
              <Digest value={newest.digests['catalog.yaml']} isShort />
            </li>
          </>
        )}
        <li>
          recipe applied <Time at={appliedAt} /> by <Text value={appliedBy} max={60} />
        </li>
      </ul>
      {newest?.labels === undefined ? null : <CatalogLabels labels={newest.labels} />}
      <Tabs label={`Pages of ${name}`} tabs={tabs(view, counts, tab)} />
    </div>
  );
}

function tabs(view: CatalogView, { remarks }: CatalogCounts, current: CatalogTab): Tab[] {
  const { name, newest } = view.catalog;
  const leftOut = REPORT_REMARKS.reduce((sum, remark) => sum + remarks[remark], 0) + invalidEntries(view);
  const numbers: Partial<Record<CatalogTab, number | undefined>> = {
    functions: newest?.functions,
    sources: view.sources.length,
    report: leftOut,
    history: newest?.serial,
  };
  return CATALOG_TABS.map((tab) => ({
    title: TITLES[tab],
    path: catalogTabPath(name, tab),
    isCurrent: tab === current,
    count: numbers[tab],
    ...defined({
      fragment: current === 'functions' ? (FRAGMENTS[tab] ?? tab) : undefined,
      fragmentPrefix: current === 'functions' && tab === 'sources' ? 'source-' : undefined,
    }),
  }));
}
