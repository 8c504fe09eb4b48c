import { fillPath } from '@krmhub/api/paths';
import { describeTombstone, type SnapshotRecord } from '@krmhub/catalog';
import { catalogFeedPath, catalogHistoryPath, compareSnapshotsPath } from '../addresses.js';
import { counted } from '../counted.js';
import { Digest } from '../parts/digest.js';
import { Label } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { TextWithTimes, Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { changesText, type SnapshotChanges } from './cached-counts.js';

export interface SnapshotRow {
  snapshot: SnapshotRecord;
  /** Absent if there is no snapshot to compare with. */
  changes?: SnapshotChanges;
}

/** One page of snapshots, newest first. */
export interface SnapshotPage {
  rows: readonly SnapshotRow[];
  /** It is not the first page. */
  isLater: boolean;
  /** The serial before which the next page starts. */
  next?: number;
}

/** Lists snapshots, with their changes against the one before. */
export function SnapshotsSection({ catalog, page }: { catalog: string; page: SnapshotPage }) {
  const { at } = useSite();
  const { rows, isLater, next } = page;
  return (
    <section aria-labelledby="snapshots">
      <h2 id="snapshots">Snapshots</h2>
      {rows.length === 0 ? <p class="quiet">None.</p> : null}
      {rows.length === 0 ? null : (
        <table class="releases stacked">
          <caption class="unseen">Snapshots, newest first</caption>
          <thead>
            <tr>
              <th scope="col">Serial</th>
              <th scope="col">Built</th>
              <th scope="col">Functions</th>
              <th scope="col">Changes</th>
              <th scope="col">Digest</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row row={row} />
            ))}
          </tbody>
        </table>
      )}
      <Pages
        first={isLater ? catalogHistoryPath(catalog) : undefined}
        next={next === undefined ? undefined : catalogHistoryPath(catalog, { before: next })}
      />
      <p>
        <a href={at(catalogFeedPath(catalog))}>Atom feed of snapshots</a>
        {rows.length > 1 ? (
          <>
            {' · '}
            <a href={at(compareSnapshotsPath(catalog))}>Compare two snapshots</a>
          </>
        ) : null}
        {' · '}
        <a href={at(fillPath('snapshots', { name: catalog }))}>Snapshots as JSON</a>
      </p>
    </section>
  );
}

function Row({ row: { snapshot, changes } }: { row: SnapshotRow }) {
  const { at } = useSite();
  const { catalog, serial, createdAt, functions, digests, withdrawn } = snapshot;
  return (
    <tr>
      <th scope="row">
        <span class="unseen">Snapshot </span>
        {withdrawn === undefined ? (
          <a href={at(fillPath('snapshotCatalogYaml', { name: catalog, snapshot: String(serial) }))}>
            {serial}
          </a>
        ) : (
          serial
        )}
      </th>
      <td>
        <Time at={createdAt} />
      </td>
      <td class="unbroken">{counted(functions, 'function')}</td>
      <td>
        {withdrawn !== undefined ? (
          <>
            <Label tone="danger">withdrawn</Label>{' '}
            <TextWithTimes value={describeTombstone(withdrawn)} max={200} />
          </>
        ) : changes === undefined ? (
          <span class="quiet">{serial === 1 ? 'first snapshot' : 'previous snapshot withdrawn'}</span>
        ) : (
          <a href={at(compareSnapshotsPath(catalog, { from: serial - 1, to: serial }))}>
            {changesText(changes)}
          </a>
        )}
      </td>
      <td>
        <Digest value={digests['catalog.yaml']} isShort />
      </td>
    </tr>
  );
}
