import { CATALOGS, catalogFeedPath, catalogPath } from '../addresses.js';
import { counted } from '../counted.js';
import { Empty } from '../parts/empty.js';
import { Label, VisibilityLabel } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { CatalogLabels } from './catalog-labels.js';
import { type CatalogView, failingSources } from './read-catalog.js';

const MAX_SOURCES = 6;

export function CatalogListPage({
  total,
  views,
  after,
  next,
}: {
  total: number;
  views: readonly CatalogView[];
  after: string | undefined;
  /** The last name of this page, if another page follows. */
  next: string | undefined;
}) {
  return (
    <div class="catalogs">
      <h1>Catalogs</h1>
      <p class="lead">
        An orchestrator reads a catalog to find the image or binary of a function. The registry builds a
        catalog from a recipe, signs it, and increases its serial when the content changes.
      </p>
      {total === 0 ? (
        <Empty title="No catalogs yet">
          <p>
            Create one with <code>krmhub catalog apply recipe.yaml</code>.
          </p>
        </Empty>
      ) : (
        <ul class="found-list">
          {views.map((view) => (
            <CatalogItem view={view} />
          ))}
        </ul>
      )}
      <Pages
        first={after === undefined ? undefined : CATALOGS}
        next={next === undefined ? undefined : `${CATALOGS}?${new URLSearchParams({ after: next })}`}
      />
    </div>
  );
}

function CatalogItem({ view }: { view: CatalogView }) {
  const { at } = useSite();
  const { name, newest } = view.catalog;
  return (
    <li class="found-function">
      <h2>
        <a href={at(catalogPath(name))}>{name}</a> <VisibilityLabel visibility={view.visibility} />{' '}
        <StateLabel view={view} />
      </h2>
      {view.recipe?.description === undefined ? null : (
        <p class="found-description">
          <Text value={view.recipe.description} />
        </p>
      )}
      <p class="found-description">
        <SourceNames view={view} />
      </p>
      <ul class="found-facts">
        {newest === undefined ? (
          <li>no snapshot yet</li>
        ) : (
          <>
            <li>{counted(newest.functions, 'function')}</li>
            <li>snapshot {newest.serial}</li>
            <li>
              built <Time at={newest.createdAt} />
            </li>
          </>
        )}
        <li>
          <a href={at(catalogFeedPath(name))}>
            feed<span class="unseen"> of the snapshots of {name}</span>
          </a>
        </li>
      </ul>
      <CatalogLabels labels={newest === undefined ? view.recipe?.labels : newest.labels} />
    </li>
  );
}

/** Renders nothing for a catalog without problems. */
export function StateLabel({ view }: { view: CatalogView }) {
  const { state } = view.state;
  if (state === 'failing') return <Label tone="danger">build fails</Label>;
  if (state === 'withdrawn') return <Label tone="warning">withdrawn</Label>;
  if (state === 'waiting')
    return <Label>{view.catalog.newest === undefined ? 'not built yet' : 'being built'}</Label>;
  const failing = failingSources(view).length;
  if (failing === 0) return null;
  const upstreams = view.sources.filter(({ record }) => record !== undefined).length;
  return (
    <Label tone="warning">
      sync of {failing} of {counted(upstreams, 'upstream catalog')} failed
    </Label>
  );
}

function SourceNames({ view: { sources, recipe } }: { view: CatalogView }) {
  if (recipe === undefined) return <>A newer version of krmhub applied its recipe.</>;
  const upstreams = sources.filter(({ record }) => record !== undefined);
  const more = upstreams.length - MAX_SOURCES;
  const isOwn = sources.length > upstreams.length;
  return (
    <>
      {isOwn ? 'Functions of this registry' : ''}
      {upstreams.length === 0 ? '.' : isOwn ? ', and of ' : 'Functions of '}
      {upstreams.slice(0, MAX_SOURCES).map(({ name, record }, index) => (
        <>
          {index === 0 ? '' : ', '}
          {name} (<Text value={urlHost(record?.url ?? '')} max={80} />)
        </>
      ))}
      {more > 0 ? ` and ${more} more` : ''}
      {upstreams.length === 0 ? '' : '.'}
    </>
  );
}

/** Returns the host of a URL. */
function urlHost(url: string): string {
  return /^(?:git::)?[a-z+]+:\/\/([^/?#]+)/i.exec(url)?.[1]?.replace(/^.*@/, '') ?? url;
}
