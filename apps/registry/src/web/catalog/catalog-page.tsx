import type { EntryPage } from '@krmhub/catalog';
import { counted } from '../counted.js';
import { DefinitionList } from '../parts/definition-list.js';
import { Digest } from '../parts/digest.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import type { CatalogCounts } from './cached-counts.js';
import { CatalogBanners } from './catalog-banners.js';
import { CatalogLabels } from './catalog-labels.js';
import { StateLabel } from './catalog-list-page.js';
import { type ContentsQuery, ContentsSection } from './contents-section.js';
import { DownloadsSection } from './downloads-section.js';
import type { CatalogView, SigningView } from './read-catalog.js';
import { RecipeSection } from './recipe-section.js';
import { ReportSection } from './report-section.js';
import { type SnapshotRow, SnapshotsSection } from './snapshots-section.js';
import { SourcesSection } from './sources-section.js';
import { TrustSection } from './trust-section.js';
import { UseSection } from './use-section.js';

export interface CatalogPageData {
  view: CatalogView;
  counts: CatalogCounts;
  query: ContentsQuery;
  contents: EntryPage;
  snapshots: readonly SnapshotRow[];
  /** There are older snapshots. */
  isMore: boolean;
  signing: SigningView;
}

export function CatalogPage(data: CatalogPageData) {
  const { view, counts, snapshots } = data;
  const { newest, name } = view.catalog;
  const isServed = newest !== undefined && newest.withdrawn === undefined;
  return (
    <div class="catalog">
      <div class="catalog-head">
        <CatalogBanners view={view} />
        <h1>
          {name} <StateLabel view={view} />
        </h1>
        {newest === undefined ? (
          <p class="lead">It has no snapshot yet.</p>
        ) : (
          <ul class="function-facts">
            <li>
              <strong>{counted(newest.functions, 'function')}</strong>
            </li>
            <li>snapshot {newest.serial}</li>
            <li>
              built <Time at={newest.createdAt} isPrecise />
            </li>
          </ul>
        )}
        <nav class="contents" aria-label="On this page">
          <ul>
            {isServed ? <ContentsEntry to="use" name="Use it" /> : null}
            {newest === undefined ? null : <ContentsEntry to="contents" name="Functions" />}
            <ContentsEntry to="sources" name="Sources" />
            <ContentsEntry to="report" name="Omitted" />
            {snapshots.length === 0 ? null : <ContentsEntry to="snapshots" name="Snapshots" />}
            {isServed ? <ContentsEntry to="trust" name="Trust" /> : null}
            <ContentsEntry to="recipe" name="Recipe" />
            {isServed ? <ContentsEntry to="downloads" name="Downloads" /> : null}
          </ul>
        </nav>
      </div>
      <div class="catalog-main">
        {isServed ? <UseSection snapshot={newest} /> : null}
        {newest === undefined ? null : <ContentsSection {...data} snapshot={newest} />}
        <SourcesSection view={view} counts={counts} />
        <ReportSection view={view} counts={counts} />
        <SnapshotsSection catalog={name} rows={snapshots} isMore={data.isMore} />
        {isServed ? <TrustSection snapshot={newest} signing={data.signing} /> : null}
        <RecipeSection catalog={view.catalog} />
      </div>
      <aside class="about" aria-label="About this catalog">
        <About view={view} />
        {isServed ? (
          <DownloadsSection snapshot={newest} isSigned={data.signing.signature !== undefined} />
        ) : null}
      </aside>
    </div>
  );
}

function ContentsEntry({ to, name }: { to: string; name: string }) {
  return (
    <li>
      <a href={`#${to}`}>{name}</a>
    </li>
  );
}

function About({ view: { catalog } }: { view: CatalogView }) {
  const { newest, appliedAt, appliedBy } = catalog;
  return (
    <DefinitionList
      items={[
        ['Digest of catalog.yaml', newest && <Digest value={newest.digests['catalog.yaml']} />],
        ['Labels', newest?.labels && <CatalogLabels labels={newest.labels} />],
        [
          'Recipe applied',
          <>
            <Time at={appliedAt} isPrecise /> by <Text value={appliedBy} max={60} />
          </>,
        ],
      ]}
    />
  );
}
