import type { SourceRecord } from '@krmhub/catalog';
import { catalogContentsPath, catalogReportPath } from '../addresses.js';
import { counted } from '../counted.js';
import { DefinitionList } from '../parts/definition-list.js';
import { Digest } from '../parts/digest.js';
import { Label } from '../parts/label.js';
import { ShortSigner } from '../parts/signer.js';
import { ExternalLink, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import type { CatalogCounts } from './cached-counts.js';
import type { CatalogView, SourceView } from './read-catalog.js';
import { durationText, requiredSigners, selectionText, sourceProblem, sourceState } from './source-texts.js';

const MAX_TEXT = 400;
const MAX_MESSAGE = 1_000;
const MAX_SIGNERS = 5;

/** Lists the sources in the order of the recipe, with the state of upstream catalogs. */
export function SourcesSection({ view, counts }: { view: CatalogView; counts: CatalogCounts }) {
  const { catalog, sources } = view;
  return (
    <section aria-labelledby="sources">
      <h2 id="sources">
        Sources <span class="quiet">{sources.length}</span>
      </h2>
      <p>
        {sources.length === 1
          ? 'The catalog has one source.'
          : 'The order matters: for each API version of a function, the first source that provides it wins.'}
      </p>
      <ol class="found-list">
        {sources.map((source) => (
          <Source catalog={catalog.name} source={source} count={counts.sources.get(source.name) ?? 0} />
        ))}
      </ol>
    </section>
  );
}

function Source({ catalog, source, count }: { catalog: string; source: SourceView; count: number }) {
  const { at } = useSite();
  const { name, record, recipe } = source;
  const state = record && sourceState(record);
  const selection = recipe && selectionText(recipe);
  return (
    <li class="found-function" id={`source-${name}`}>
      <h3>
        {name} {state === undefined ? null : <Label tone={state.tone}>{state.word}</Label>}
      </h3>
      <p class="found-description">
        {record === undefined ? 'Functions of this registry' : <ExternalLink url={record.url} />}
        {selection === undefined ? null : (
          <>
            : <Text value={selection} max={MAX_TEXT} />
          </>
        )}
      </p>
      {record === undefined ? null : <Problem record={record} />}
      <ul class="found-facts">
        <li>
          {count === 0 ? (
            'provides no function in this snapshot'
          ) : (
            <>
              provides{' '}
              <a href={at(catalogContentsPath(catalog, { source: name }))}>{counted(count, 'function')}</a>
            </>
          )}
        </li>
        {record === undefined ? null : <UpstreamFacts catalog={catalog} record={record} source={source} />}
      </ul>
      {record?.copy === undefined ? null : <CopyDetails record={record} />}
    </li>
  );
}

function UpstreamFacts({
  catalog,
  record: { checkedAt, copy },
  source: { recipe },
}: {
  catalog: string;
  record: SourceRecord;
  source: SourceView;
}) {
  const { at } = useSite();
  const upstream = recipe?.catalog;
  return (
    <>
      {checkedAt === undefined ? null : (
        <li>
          last synced <Time at={checkedAt} />
        </li>
      )}
      {upstream === undefined ? null : (
        <li>synced every {durationText(upstream.refreshSeconds).replace(/^1 /, '')}</li>
      )}
      {upstream?.minimumAgeSeconds === undefined ? null : (
        <li>minimum age {durationText(upstream.minimumAgeSeconds)}</li>
      )}
      {copy === undefined ? null : (
        <li>{copy.entries === 1 ? '1 entry' : `${copy.entries.toLocaleString('en')} entries`}</li>
      )}
      {copy === undefined || copy.invalidEntries === 0 ? null : (
        <li>
          <a href={at(`${catalogReportPath(catalog)}#invalid`)}>
            {copy.invalidEntries.toLocaleString('en')} invalid
          </a>
        </li>
      )}
      {copy?.completedEntries === undefined ? null : (
        <li>
          <a href={at(`${catalogReportPath(catalog)}#completed`)}>
            {copy.completedEntries.toLocaleString('en')} completed by defaults
          </a>
        </li>
      )}
    </>
  );
}

/** Shows the problem of the last sync; renders nothing if that succeeded. */
export function Problem({ record }: { record: SourceRecord }) {
  const problem = sourceProblem(record);
  const { failure, copy } = record;
  if (problem === undefined || failure === undefined) return null;
  return (
    <div class={`banner banner-${copy === undefined ? 'danger' : 'warning'}`}>
      <p>
        {problem.what}, since <Time at={failure.since} />
        {failure.attempts > 1 ? `, after ${failure.attempts} attempts` : ''}:{' '}
        <Text value={failure.message} max={MAX_MESSAGE} />
      </p>
      <p>
        {problem.hint}{' '}
        {copy === undefined ? (
          'Until then, the catalog contains no functions of this source.'
        ) : (
          <>
            Until then, the last good copy is used, fetched <Time at={copy.fetchedAt} />
            {copy.formerUrl === undefined ? null : (
              <>
                {' '}
                from <Text value={copy.formerUrl} max={MAX_TEXT} />
              </>
            )}
            .
          </>
        )}
      </p>
    </div>
  );
}

function CopyDetails({ record }: { record: SourceRecord }) {
  const { copy, highest } = record;
  if (copy === undefined) return null;
  const signers = requiredSigners(record);
  return (
    <details>
      <summary>The copy in use</summary>
      <DefinitionList
        items={[
          ['Digest', <Digest value={copy.digest} />],
          ['Fetched', <Time at={copy.fetchedAt} />],
          [
            'Signed snapshot',
            copy.snapshot && (
              <>
                {copy.snapshot.serial} of <Text value={copy.snapshot.catalog} max={80} />, valid until{' '}
                <Time at={copy.snapshot.expires} />
              </>
            ),
          ],
          ['Highest serial seen', highest?.serial],
          [
            'Signed by',
            signers.length === 0 ? (
              'no known signer'
            ) : (
              <ul class="plain-list">
                {signers.slice(0, MAX_SIGNERS).map((signer) => (
                  <li>
                    <ShortSigner value={signer} />
                  </li>
                ))}
              </ul>
            ),
          ],
        ]}
      />
    </details>
  );
}
