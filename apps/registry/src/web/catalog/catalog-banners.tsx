import { describeTombstone } from '@krmhub/catalog';
import { counted } from '../counted.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { type CatalogView, failingSources } from './read-catalog.js';

const MAX_MESSAGE = 1_000;

/** What a reader has to know before using the catalog; failed sources only where the page does not tell of them anyway. */
export function CatalogBanners({ view, hasSources = true }: { view: CatalogView; hasSources?: boolean }) {
  return (
    <>
      <StateBanner view={view} />
      {view.recipe === undefined ? (
        <Banner tone="danger" title="Its recipe is not understood">
          <p>
            Another version of this program has applied it. Until it is applied anew the catalog stays as it
            is.
          </p>
        </Banner>
      ) : null}
      {hasSources ? <SourcesBanner view={view} /> : null}
    </>
  );
}

function StateBanner({ view: { state, catalog } }: { view: CatalogView }) {
  const { newest } = catalog;
  if (state.state === 'failing') {
    return (
      <Banner tone="danger" title="The catalog cannot be cut">
        <p>
          <Text value={state.message} max={MAX_MESSAGE} />.{' '}
          {newest === undefined
            ? 'There is nothing to serve until that is mended.'
            : `Snapshot ${newest.serial} is served until that is mended.`}{' '}
          It is tried again by itself.
        </p>
      </Banner>
    );
  }
  if (state.state === 'withdrawn') {
    const { withdrawn, serial = 0 } = newest ?? {};
    return (
      <Banner tone="warning" title={`Snapshot ${serial} was withdrawn, and the next one is being cut`}>
        <p>
          {withdrawn === undefined ? null : <Text value={describeTombstone(withdrawn)} max={MAX_MESSAGE} />}.
          Until there is a snapshot without it, the addresses of the catalog answer 503.
        </p>
      </Banner>
    );
  }
  if (state.state !== 'waiting') return null;
  const waits =
    state.unasked.length === 0
      ? 'It is being cut at this moment.'
      : `It is cut once each of its sources was asked; ${names(state.unasked)} ${state.unasked.length === 1 ? 'was' : 'were'} not yet.`;
  return newest === undefined ? (
    <Banner title="This catalog was not cut yet">
      <p>{waits} Its addresses answer 503 until then.</p>
    </Banner>
  ) : (
    <Banner title="Its recipe was changed">
      <p>
        {waits} Until then snapshot {newest.serial}, of the recipe before, is served.
      </p>
    </Banner>
  );
}

function SourcesBanner({ view }: { view: CatalogView }) {
  const failing = failingSources(view);
  if (failing.length === 0) return null;
  const without = failing.filter(({ copy }) => copy === undefined).map(({ source }) => source);
  return (
    <Banner tone="warning" title={`${counted(failing.length, 'source')} could not be read at the last look`}>
      <p>
        {failing.length > without.length ? 'The last good copy is served on. ' : ''}
        {without.length === 0
          ? ''
          : `There is no copy of ${names(without)}, so that nothing of it is in the catalog. `}
        <a href="#sources">What is wrong with which</a>
      </p>
    </Banner>
  );
}

const MAX_NAMES = 5;

function names(all: readonly string[]): string {
  const more = all.length - MAX_NAMES;
  return `${all.slice(0, MAX_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
