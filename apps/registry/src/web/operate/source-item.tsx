import type { Source } from '@krmhub/api/model';
import { sourcesPath, syncSourcePath } from '../addresses.js';
import { DefinitionList } from '../parts/definition-list.js';
import { Label, type Tone } from '../parts/label.js';
import { Reference, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';

const STATES: Readonly<Record<Source['state'], { tone: Tone; meaning: string }>> = {
  current: { tone: 'good', meaning: 'The last sync succeeded' },
  stale: { tone: 'warning', meaning: 'The last sync failed; an older copy is used' },
  missing: {
    tone: 'danger',
    meaning: 'The registry has no copy, so the catalog contains no functions of it',
  },
};

/** All details of a source. */
export function SourceItem({ source, mayAsk }: { source: Source; mayAsk: boolean }) {
  const { at } = useSite();
  const { catalog, state, url, checkedAt, nextAt, problem, message, failingSince, copy } = source;
  const { tone, meaning } = STATES[state];
  return (
    <li id={`${catalog}.${source.source}`}>
      <div class="operate-head">
        <h2>
          {source.source} <span class="quiet">of</span> <a href={at(sourcesPath({ catalog }))}>{catalog}</a>
        </h2>
        <Label tone={tone} title={meaning}>
          {state}
        </Label>
        {mayAsk ? (
          <ActionForm action={syncSourcePath(source)}>
            <button
              class="button-plain"
              type="submit"
              aria-label={`Sync now: ${source.source} of ${catalog}`}
            >
              Sync now
            </button>
          </ActionForm>
        ) : null}
      </div>
      <DefinitionList
        items={[
          [
            'Address',
            <code>
              <Reference value={url} max={2_000} />
            </code>,
          ],
          [
            'Problem',
            message === undefined ? undefined : (
              <>
                <Text value={message} max={1_000} /> <span class="quiet">({problem})</span>
              </>
            ),
          ],
          ['Failing since', failingSince === undefined ? undefined : <Time at={failingSince} />],
          [
            'Last success',
            copy === undefined ? (
              'never'
            ) : message === undefined && checkedAt !== undefined ? (
              <Time at={checkedAt} />
            ) : (
              <>
                before the failure; the copy was fetched <Time at={copy.fetchedAt} />
              </>
            ),
          ],
          ['Last sync', checkedAt === undefined ? 'not yet' : <Time at={checkedAt} />],
          ['Next sync', <Time at={nextAt} />],
          ['Copy', copy === undefined ? 'none' : <Copy copy={copy} />],
          ['Signature', copy === undefined ? undefined : <Signature copy={copy} />],
          ['Invalid', copy === undefined || copy.invalidEntries === 0 ? undefined : <Refused copy={copy} />],
        ]}
      />
    </li>
  );
}

type Copy = NonNullable<Source['copy']>;

function Copy({ copy: { entries, size, fetchedAt, formerUrl } }: { copy: Copy }) {
  return (
    <>
      {entries.toLocaleString('en')} {entries === 1 ? 'entry' : 'entries'}, {size.toLocaleString('en')} bytes,
      fetched <Time at={fetchedAt} />
      {formerUrl === undefined ? null : (
        <>
          from <Text value={formerUrl} max={500} />; the URL above has not responded yet
        </>
      )}
    </>
  );
}

/** Valid signatures; the recipe decides whether to trust them. */
function Signature({ copy: { signedBy, serial, expires } }: { copy: Copy }) {
  if (signedBy.length === 0) return <>no valid signature of the whole catalog</>;
  return (
    <>
      valid:{' '}
      {signedBy.map((signer, index) => (
        <>
          {index === 0 ? '' : '; '}
          <Text value={signer} max={500} />
        </>
      ))}
      {serial === undefined ? null : ` (snapshot ${serial})`}
      {expires === undefined ? null : (
        <>
          , valid until <Time at={expires} />
        </>
      )}
      . The recipe says which signers are trusted.
    </>
  );
}

function Refused({ copy: { invalid, invalidEntries } }: { copy: Copy }) {
  return (
    <details>
      <summary>
        {invalidEntries.toLocaleString('en')} {invalidEntries === 1 ? 'entry' : 'entries'} cannot be used
      </summary>
      <ul>
        {invalid.slice(0, MAX_INVALID).map(({ entry, group, kind, message }) => (
          <li>
            {group === undefined && kind === undefined ? (
              `Entry ${entry}`
            ) : (
              <Reference value={`${group ?? ''}/${kind ?? ''}`} max={320} />
            )}
            : <Text value={message} max={500} />
          </li>
        ))}
      </ul>
      {invalidEntries <= MAX_INVALID ? null : <p class="quiet">The others are not listed.</p>}
    </details>
  );
}

const MAX_INVALID = 50;
