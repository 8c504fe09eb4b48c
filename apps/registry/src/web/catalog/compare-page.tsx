import {
  CATALOG_CHANGE_IMPACT_LABELS,
  CATALOG_CHANGE_IMPACTS,
  type CatalogChange,
  type CatalogChangeImpact,
  type SnapshotRecord,
} from '@krmhub/catalog';
import { SERVER_LIMITS } from '../../limits.js';
import { catalogPath, compareSnapshotsPath, functionPath } from '../addresses.js';
import { counted } from '../counted.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { Empty } from '../parts/empty.js';
import { Label, type Tone } from '../parts/label.js';
import { QualifiedName, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { changesText } from './cached-counts.js';
import type { SnapshotComparison } from './read-comparison.js';

export interface ComparePageData {
  catalog: string;
  from: SnapshotRecord;
  to: SnapshotRecord;
  comparison: SnapshotComparison;
  /** Snapshots to choose from, newest first. */
  snapshots: readonly SnapshotRecord[];
  /** There are older ones, which are chosen by serial. */
  hasMore: boolean;
}

const TONES: Record<CatalogChangeImpact, Tone> = { breaking: 'danger', review: 'warning', quiet: 'plain' };
/** Maximum number of listed changes for one function. */
const MAX_CHANGES = 20;
const MAX_MESSAGE = 500;

/** Shows what changed between two snapshots of a catalog, by impact. */
export function CompareSnapshotsPage({ catalog, from, to, comparison, snapshots, hasMore }: ComparePageData) {
  const { at } = useSite();
  const { changes, counts, tooLarge, uncompared } = comparison;
  const isNothing = changes.length === 0 && tooLarge.length === 0 && uncompared === 0;
  return (
    <div class="compare">
      <p>
        <a href={at(catalogPath(catalog))}>{catalog}</a>
      </p>
      <h1>
        What changed from snapshot {from.serial} to {to.serial}
      </h1>
      <form class="compare-form" action={at(compareSnapshotsPath(catalog))}>
        <Choice id="from" label="From" snapshots={snapshots} hasMore={hasMore} chosen={from} />
        <Choice id="to" label="To" snapshots={snapshots} hasMore={hasMore} chosen={to} />
        <button type="submit">Compare</button>
      </form>
      {hasMore ? (
        <p class="quiet">
          The lists suggest the newest {snapshots.length} snapshots. For an older one, type its serial.
        </p>
      ) : null}
      <p>
        Snapshot {from.serial} was built <Time at={from.createdAt} />, with{' '}
        {counted(from.functions, 'function')}. Snapshot {to.serial} was built <Time at={to.createdAt} />, with{' '}
        {counted(to.functions, 'function')}.
      </p>
      {isNothing ? (
        <Empty title="No function changed">
          <p>
            {from.digests['catalog.yaml'] === to.digests['catalog.yaml']
              ? 'Both snapshots have the same bytes.'
              : 'Only labels of the catalog differ.'}
          </p>
        </Empty>
      ) : (
        <>
          <Counts comparison={comparison} />
          {counts.isAll && uncompared === 0 ? null : (
            <p>
              {counts.isAll
                ? `${counted(uncompared, 'more function')} differ, but are not listed here.`
                : `The snapshots differ in ${changesText(counts, SERVER_LIMITS.maxComparedEntries)}. This page lists the first of them.`}{' '}
              The command below lists all of them.
            </p>
          )}
          {changes.length + tooLarge.length === 0 ? null : (
            <ol class="found-list">
              {byFunction(changes).map((one) => (
                <FunctionChanges changes={one} />
              ))}
              {tooLarge.map((name) => (
                <li class="found-function">
                  <h2>
                    <FunctionLink name={name} />
                  </h2>
                  <p>
                    It changed, but it is too large for a comparison on this page. The command below shows the
                    difference.
                  </p>
                </li>
              ))}
            </ol>
          )}
        </>
      )}
      <h2>In a terminal</h2>
      <CopySnippet
        label="Compare with krmhub"
        caption="The same comparison:"
        code={`krmhub catalog diff ${catalog} ${from.serial} ${to.serial}`}
      />
    </div>
  );
}

function Counts({ comparison: { changes, counts } }: { comparison: SnapshotComparison }) {
  if (!counts.isAll && changes.length === 0) return null;
  return (
    <dl class="facts">
      {counts.isAll ? (
        <div>
          <dt>Functions</dt>
          <dd>{changesText(counts)}</dd>
        </div>
      ) : null}
      {CATALOG_CHANGE_IMPACTS.map((weight) => {
        const count = changes.filter((change) => change.weight === weight).length;
        if (count === 0) return null;
        const { label, meaning } = CATALOG_CHANGE_IMPACT_LABELS[weight];
        return (
          <div>
            <dt>
              <Label tone={TONES[weight]}>{label}</Label>
            </dt>
            <dd>
              {counted(count, 'change')}. <span class="quiet">{meaning}</span>
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function FunctionChanges({ changes }: { changes: readonly CatalogChange[] }) {
  const [first] = changes;
  if (first === undefined) return null;
  const more = changes.length - MAX_CHANGES;
  return (
    <li class="found-function">
      <h2>
        <FunctionLink name={first} isGone={first.class === 'function-removed'} />
      </h2>
      <ul class="plain-list">
        {changes.slice(0, MAX_CHANGES).map(({ weight, version, message, class: name }) => (
          <li>
            <Label tone={TONES[weight]}>{CATALOG_CHANGE_IMPACT_LABELS[weight].label}</Label>{' '}
            {version === undefined ? '' : `${version}: `}
            <Text value={message} max={MAX_MESSAGE} /> <code class="quiet">{name}</code>
          </li>
        ))}
        {more > 0 ? <li class="quiet">and {more} more</li> : null}
      </ul>
    </li>
  );
}

function FunctionLink({ name, isGone = false }: { name: { group: string; kind: string }; isGone?: boolean }) {
  const { at } = useSite();
  const text = <QualifiedName name={name} />;
  // A function that is gone from the catalog may have no page.
  return isGone ? text : <a href={at(functionPath(name))}>{text}</a>;
}

function Choice({
  id,
  label,
  snapshots,
  hasMore,
  chosen,
}: {
  id: string;
  label: string;
  snapshots: readonly SnapshotRecord[];
  hasMore: boolean;
  chosen: SnapshotRecord;
}) {
  const listed = snapshots.some(({ serial }) => serial === chosen.serial)
    ? snapshots
    : [...snapshots, chosen];
  const options = listed.map(({ serial, createdAt }) => (
    <option value={String(serial)} selected={!hasMore && serial === chosen.serial}>
      {serial}, {createdAt.slice(0, 10)}
    </option>
  ));
  const list = `${id}-serials`;
  return (
    <p>
      <label for={id}>{label}</label>{' '}
      {hasMore ? (
        <>
          <input id={id} name={id} value={String(chosen.serial)} list={list} inputmode="numeric" required />
          <datalist id={list}>{options}</datalist>
        </>
      ) : (
        <select id={id} name={id}>
          {options}
        </select>
      )}
    </p>
  );
}

/** Groups changes by function: functions with a breaking change first, then in the order of the catalog. */
function byFunction(changes: readonly CatalogChange[]): CatalogChange[][] {
  const found = new Map<string, CatalogChange[]>();
  for (const change of changes) {
    const name = `${change.group}/${change.kind}`;
    const known = found.get(name);
    if (known === undefined) found.set(name, [change]);
    else known.push(change);
  }
  const rank = ([first]: CatalogChange[]) => CATALOG_CHANGE_IMPACTS.indexOf(first?.weight ?? 'quiet');
  return [...found.values()].sort((a, b) => rank(a) - rank(b));
}
