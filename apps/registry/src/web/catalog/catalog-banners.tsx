import { tombstoneText } from '@krmhub/catalog';
import { counted } from '../counted.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { type CatalogView, failingSources } from './read-catalog.js';

const MAX_MESSAGE = 1_000;

/** What a reader has to know before using the catalog. */
export function CatalogBanners({ view }: { view: CatalogView }) {
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
      <SourcesBanner view={view} />
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
          {withdrawn === undefined ? null : <Text value={tombstoneText(withdrawn)} max={MAX_MESSAGE} />}.
          Until there is a snapshot without it, the addresses of the catalog answer 503.
        </p>
      </Banner>
    );
  }
  if (state.state !== 'waiting') return null;
  const waits =
    state.unasked.length === 0
      ? 'It is being cut at this moment.'
      : `It is cut once each of its sources was asked; ${state.unasked.slice(0, 5).join(', ')}${
          state.unasked.length > 5 ? ` and ${state.unasked.length - 5} more` : ''
        } ${state.unasked.length === 1 ? 'was' : 'were'} not yet.`;
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
  const without = failing.filter(({ copy }) => copy === undefined).length;
  return (
    <Banner tone="warning" title={`${counted(failing.length, 'source')} could not be read at the last look`}>
      <p>
        {failing.length > without ? 'The last good copy is served on. ' : ''}
        {without > 0 ? `Of ${without} there is no copy, so that nothing of it is in the catalog. ` : ''}
        <a href="#sources">What is wrong with which</a>
      </p>
    </Banner>
  );
}
