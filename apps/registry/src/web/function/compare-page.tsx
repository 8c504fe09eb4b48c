import { type Change, EFFECTS, type Effect, type ReleaseSummary } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { functionPath, releasePath } from '../addresses.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { Empty } from '../parts/empty.js';
import { QualifiedName, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';

export interface Comparison {
  name: FunctionName;
  releases: ReleaseSummary[];
  from: ReleaseSummary;
  to: ReleaseSummary;
  /** Absent if the definitions are too large to compare for a page. */
  changes?: readonly Change[] | undefined;
}

const TITLES: Record<Effect, string> = {
  breaking: 'Breaking',
  review: 'To review',
  compatible: 'Compatible',
};
const MEANINGS: Record<Effect, string> = {
  breaking: 'Existing files can be rejected, or their meaning can change.',
  review: 'Existing files usually stay valid. Their meaning or the permissions of the function can differ.',
  compatible: 'Existing files keep their meaning.',
};
/** Maximum number of changes of one impact; `krmhub diff` prints all. */
const MAX_CHANGES = 300;
const MAX_CHOICES = 300;

export function ComparePage({ name, releases, from, to, changes }: Comparison) {
  const { at } = useSite();
  return (
    <div class="compare">
      <p>
        <a href={at(functionPath(name))}>
          <QualifiedName name={name} />
        </a>
      </p>
      <h1>
        What changes from {from.release} to {to.release}
      </h1>
      <form class="compare-form" action={at(`${functionPath(name)}/compare`)}>
        <Choice id="from" label="From" releases={releases} chosen={from.release} />
        <Choice id="to" label="To" releases={releases} chosen={to.release} />
        <button type="submit">Compare</button>
      </form>
      <p class="quiet">
        <a href={at(releasePath({ ...name, release: from.release }))}>{from.release}</a> was published{' '}
        <Time at={from.publishedAt} />,{' '}
        <a href={at(releasePath({ ...name, release: to.release }))}>{to.release}</a>{' '}
        <Time at={to.publishedAt} />.
      </p>
      {changes === undefined ? (
        <Empty title="The definitions are too large for a comparison on this page">
          <p>Use the command below: it compares definitions of any size.</p>
        </Empty>
      ) : changes.length === 0 ? (
        <Empty title="No changes">
          <p>
            {from.digest === to.digest
              ? 'The definitions are identical.'
              : 'The definitions have the same meaning but different bytes.'}
          </p>
        </Empty>
      ) : (
        EFFECTS.map((effect) => (
          <Changes effect={effect} changes={changes.filter((change) => change.effect === effect)} />
        ))
      )}
      <h2>In a terminal</h2>
      <CopySnippet
        label="Compare with krmhub"
        caption="The same comparison:"
        code={`krmhub diff ${name.group}/${name.kind}@${from.release} ${to.release}`}
      />
    </div>
  );
}

function Changes({ effect, changes }: { effect: Effect; changes: readonly Change[] }) {
  if (changes.length === 0) return null;
  return (
    <section aria-labelledby={effect}>
      <h2 id={effect}>
        {TITLES[effect]} <span class="quiet">{changes.length}</span>
      </h2>
      <p class="quiet">{MEANINGS[effect]}</p>
      <ul class={`changes changes-${effect}`}>
        {changes.slice(0, MAX_CHANGES).map(({ message, path, version }) => (
          <li>
            <p>
              <Text value={message.slice(0, 1).toUpperCase() + message.slice(1)} max={1_000} />
            </p>
            <p class="quiet">
              {version === undefined ? null : (
                <>
                  <Text value={version} max={63} />
                  {' · '}
                </>
              )}
              <code>
                <Text value={path} max={400} />
              </code>
            </p>
          </li>
        ))}
      </ul>
      {changes.length > MAX_CHANGES ? <p class="quiet">And {changes.length - MAX_CHANGES} more.</p> : null}
    </section>
  );
}

function Choice({
  id,
  label,
  releases,
  chosen,
}: {
  id: string;
  label: string;
  releases: readonly ReleaseSummary[];
  chosen: string;
}) {
  const listed = releases.slice(0, MAX_CHOICES);
  const missing = listed.some(({ release }) => release === chosen) ? [] : [chosen];
  return (
    <p>
      <label for={id}>{label}</label>{' '}
      <select id={id} name={id}>
        {[...missing, ...listed.map(({ release }) => release)].map((release) => (
          <option value={release} selected={release === chosen}>
            {release}
          </option>
        ))}
      </select>
    </p>
  );
}
