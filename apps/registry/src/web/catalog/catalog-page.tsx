import type { EntryPage, SnapshotRecord } from '@krmhub/catalog';
import type { Child } from 'hono/jsx';
import type { CatalogTab } from '../addresses.js';
import type { CatalogCounts } from './cached-counts.js';
import { CatalogHead } from './catalog-head.js';
import { type ContentsQuery, ContentsSection } from './contents-section.js';
import type { CatalogView, SigningView } from './read-catalog.js';
import { RecipeSection } from './recipe-section.js';
import { type SnapshotPage, SnapshotsSection } from './snapshots-section.js';
import { SourcesSection } from './sources-section.js';
import { TrustSection } from './trust-section.js';
import { UseSection } from './use-section.js';

interface TabProps {
  view: CatalogView;
  counts: CatalogCounts;
}

/** Returns the newest snapshot, if the registry serves it. */
function servedSnapshot({ catalog: { newest } }: CatalogView): SnapshotRecord | undefined {
  return newest?.withdrawn === undefined ? newest : undefined;
}

function Frame({ view, counts, tab, children }: TabProps & { tab: CatalogTab; children?: Child }) {
  return (
    <div class="catalog">
      <CatalogHead view={view} counts={counts} tab={tab} />
      {children}
    </div>
  );
}

/** The functions of the newest snapshot, and how to use it. */
export function FunctionsTab(
  props: TabProps & {
    query: ContentsQuery;
    contents: EntryPage;
    descriptions: readonly (string | undefined)[];
    isSigned: boolean;
  },
) {
  const { view, counts, isSigned } = props;
  const { newest } = view.catalog;
  const served = servedSnapshot(view);
  return (
    <Frame view={view} counts={counts} tab="functions">
      {served === undefined ? null : (
        <UseSection snapshot={served} visibility={view.visibility} isSigned={isSigned} />
      )}
      {newest === undefined ? null : <ContentsSection {...props} snapshot={newest} />}
    </Frame>
  );
}

export function SourcesTab(props: TabProps) {
  return (
    <Frame {...props} tab="sources">
      <SourcesSection {...props} />
    </Frame>
  );
}

export function HistoryTab({ page, ...props }: TabProps & { page: SnapshotPage }) {
  return (
    <Frame {...props} tab="history">
      <SnapshotsSection catalog={props.view.catalog.name} page={page} />
    </Frame>
  );
}

export function TrustTab({ signing, ...props }: TabProps & { signing: SigningView }) {
  const served = servedSnapshot(props.view);
  return (
    <Frame {...props} tab="trust">
      {served === undefined ? (
        <p>The catalog has no snapshot whose signature could be verified.</p>
      ) : (
        <TrustSection snapshot={served} signing={signing} />
      )}
    </Frame>
  );
}

export function RecipeTab(props: TabProps) {
  return (
    <Frame {...props} tab="recipe">
      <RecipeSection catalog={props.view.catalog} />
    </Frame>
  );
}
