import type { TakedownResult } from '@krmhub/api/model';
import type { FunctionName } from '@krmhub/schema';
import { operateReleasePath, takedownPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Digest } from '../parts/digest.js';
import { ReleaseName } from '../parts/release-name.js';
import { QualifiedName, Reference, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { Field, type FieldProblems, fieldAttributes, Problem } from './field.js';

export interface TakedownPageData {
  name: FunctionName & { release: string };
  /** What a dry run reported. */
  preview: TakedownResult;
  reason: string;
  /** Whether the box is checked that refuses its runtimes. */
  refuses: boolean;
  problems: FieldProblems<'reason' | 'confirmed'>;
}

/** Maximum number of items of each list. */
const MAX_ITEMS = 100;
/** Maximum number of releases that keep a blob. */
const MAX_KEEPERS = 5;

/** Asks for a confirmation, and names everything that a takedown deletes. */
export function TakedownPage({
  shown: { name, preview, reason, refuses, problems },
}: {
  shown: TakedownPageData;
}) {
  const { at } = useSite();
  const [earlier] = preview.takedowns;
  if (preview.outcome === 'unchanged') {
    return (
      <>
        <h1>
          <ReleaseName name={name} /> was taken down
        </h1>
        <p>
          {earlier === undefined ? null : (
            <>
              <Time at={earlier.at} />, by <Text value={earlier.by} max={100} />:{' '}
              <Text value={earlier.reason} max={1_000} />
            </>
          )}
        </p>
      </>
    );
  }
  return (
    <>
      <h1>
        Take down <ReleaseName name={name} />?
      </h1>
      <Banner tone="danger" title="You cannot undo a takedown">
        <p>The registry deletes all of this permanently.</p>
      </Banner>
      <Effects preview={preview} />
      <ActionForm action={takedownPath(name)} class="form">
        <Field field="reason" label="Reason" problems={problems} value={reason} required maxlength={1_000}>
          Everyone can read it.
        </Field>
        <p>
          <label class="choice">
            <input type="checkbox" name="refuse" value="true" checked={refuses} />
            <span>Refuse its images, executables, and scripts in every release</span>
          </label>
        </p>
        <p>
          <Problem field="confirmed" problems={problems} />
          <label class="choice">
            <input
              id="confirmed"
              type="checkbox"
              name="confirmed"
              value={String(preview.takedowns.length)}
              required
              {...fieldAttributes('confirmed', problems, { hasHint: false })}
            />
            <span>
              Delete{' '}
              {preview.takedowns.length === 1 ? 'this release' : `these ${preview.takedowns.length} releases`}{' '}
              permanently
            </span>
          </label>
        </p>
        <div class="buttons">
          <button class="button-danger" type="submit">
            Take down
          </button>
          <a href={at(operateReleasePath(name))}>Cancel</a>
        </div>
      </ActionForm>
    </>
  );
}

function Effects({ preview: { takedowns, blobs, withdrawn, repositories } }: { preview: TakedownResult }) {
  const catalogs = new Map<string, number[]>();
  for (const { catalog, serial } of withdrawn) {
    catalogs.set(catalog, [...(catalogs.get(catalog) ?? []), serial]);
  }
  return (
    <section aria-labelledby="effects">
      <h2 id="effects">What it deletes</h2>
      <h3>{takedowns.length === 1 ? 'Release' : 'Releases with the same bytes'}</h3>
      <ul>
        {takedowns.slice(0, MAX_ITEMS).map((takedown) => (
          <li>
            <QualifiedName name={takedown} />
          </li>
        ))}
        <More count={takedowns.length} />
      </ul>
      <h3>Definitions and READMEs</h3>
      <ul>
        {blobs.slice(0, MAX_ITEMS).map(({ digest, keptBy }) => (
          <li>
            <Digest value={digest} />
            {keptBy.length === 0 ? null : (
              <>
                {' '}
                is kept, because{' '}
                {keptBy.slice(0, MAX_KEEPERS).map((release, index) => (
                  <>
                    {index === 0 ? '' : ', '}
                    <QualifiedName name={release} />
                  </>
                ))}
                {keptBy.length > MAX_KEEPERS ? ` and ${keptBy.length - MAX_KEEPERS} more` : ''} also{' '}
                {keptBy.length === 1 ? 'uses' : 'use'} it
              </>
            )}
          </li>
        ))}
        <More count={blobs.length} />
      </ul>
      {catalogs.size === 0 ? null : (
        <>
          <h3>Withdrawn snapshots</h3>
          <ul>
            {[...catalogs].slice(0, MAX_ITEMS).map(([catalog, serials]) => (
              <li>
                {catalog}: {serials.length === 1 ? 'snapshot' : `${serials.length} snapshots:`}{' '}
                <Text value={serials.join(', ')} max={1_000} />
              </li>
            ))}
            <More count={catalogs.size} />
          </ul>
        </>
      )}
      {repositories.length === 0 ? null : (
        <>
          <h3>Copies and their referrers in repositories</h3>
          <ul>
            {repositories.slice(0, MAX_ITEMS).map((repository) => (
              <li>
                <Reference value={repository} max={300} />
              </li>
            ))}
            <More count={repositories.length} />
          </ul>
        </>
      )}
    </section>
  );
}

function More({ count }: { count: number }) {
  return count <= MAX_ITEMS ? null : <li class="quiet">and {count - MAX_ITEMS} more</li>;
}
