import { describeTombstone } from '@krmhub/catalog';
import { catalogTabPath } from '../addresses.js';
import { counted } from '../counted.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { TextWithTimes } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';
import { type CatalogView, failingSources } from './read-catalog.js';

const MAX_MESSAGE = 1_000;

/**
 * What a reader must know before using the catalog. Failed sources are only included if the page does not list
 * sources.
 */
export function CatalogBanners({ view, hasSources = true }: { view: CatalogView; hasSources?: boolean }) {
  return (
    <>
      <StateBanner view={view} />
      {view.recipe === undefined ? (
        <Banner tone="danger" title="Cannot read the recipe">
          <p>
            A newer version of krmhub applied the recipe. The catalog does not change until you apply the
            recipe again.
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
      <Banner tone="danger" title="Cannot build the catalog">
        <p>
          <Text value={sentence(state.message)} max={MAX_MESSAGE} />{' '}
          {newest === undefined
            ? 'The catalog has no snapshot until you fix this.'
            : `The registry serves snapshot ${newest.serial} until you fix this.`}{' '}
          The registry retries automatically.
        </p>
      </Banner>
    );
  }
  if (state.state === 'withdrawn') {
    const { withdrawn, serial = 0 } = newest ?? {};
    return (
      <Banner
        tone="warning"
        title={`Snapshot ${serial} was withdrawn; the registry is building the next snapshot`}
      >
        <p>
          {withdrawn === undefined ? null : (
            <TextWithTimes value={sentence(describeTombstone(withdrawn))} max={MAX_MESSAGE} />
          )}{' '}
          Until the next snapshot is ready, the catalog URLs return 503.
        </p>
      </Banner>
    );
  }
  if (state.state !== 'waiting') return null;
  const waits =
    state.unasked.length === 0
      ? 'The registry is building it now.'
      : `The registry builds it after the first sync of each source. Not synced yet: ${names(state.unasked)}.`;
  return newest === undefined ? (
    <Banner title="This catalog has no snapshot yet">
      <p>{waits} Its URLs return 503 until then.</p>
    </Banner>
  ) : (
    <Banner title="The recipe has changed">
      <p>
        {waits} Until then snapshot {newest.serial}, built from the previous recipe, is served.
      </p>
    </Banner>
  );
}

function SourcesBanner({ view }: { view: CatalogView }) {
  const { at } = useSite();
  const failing = failingSources(view);
  if (failing.length === 0) return null;
  const without = failing.filter(({ copy }) => copy === undefined).map(({ source }) => source);
  return (
    <Banner tone="warning" title={`The last sync of ${counted(failing.length, 'source')} failed`}>
      <p>
        {failing.length > without.length ? 'The registry serves the last good copy.' : ''}
        {without.length === 0
          ? ''
          : `The registry has no copy of ${names(without)}, so the catalog contains none of its functions.`}{' '}
        <a href={at(catalogTabPath(view.catalog.name, 'sources'))}>Show the problems</a>
      </p>
    </Banner>
  );
}

const MAX_NAMES = 5;

function names(all: readonly string[]): string {
  const more = all.length - MAX_NAMES;
  return `${all.slice(0, MAX_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
