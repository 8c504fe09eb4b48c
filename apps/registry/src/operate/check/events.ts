import { PURGED_CATALOGS } from '../../store/records/snapshots/catalog-deletion.js';
import { type Check, damage, FROM_BACKUP } from './finding.js';

/**
 * Checks that the event log has no gap and matches the releases and snapshots. It compares whole lists, because
 * searching all events for each release would take hours for large registries.
 */
export const checkEvents: Check = async function* ({ client }) {
  const rows = (sql: string): string[] => client.prepare<[], string>(sql).pluck().all();
  const number = (sql: string): number => client.prepare<[], number | null>(sql).pluck().get() ?? 0;
  // Sequences whose predecessor is missing; the first is 1.
  const gaps = rows(`SELECT sequence FROM
    (SELECT sequence, lag(sequence, 1, 0) OVER (ORDER BY sequence) AS before FROM event) WHERE sequence <> before + 1`);
  for (const sequence of gaps) {
    yield damage(`event ${sequence}`, 'the event before it is missing', FROM_BACKUP);
  }
  const given = number(`SELECT seq FROM sqlite_sequence WHERE name = 'event'`);
  const last = number('SELECT max(sequence) FROM event');
  if (given !== last) {
    yield damage(`event ${given}`, `it is the newest, but the log ends at event ${last}`, FROM_BACKUP);
  }
  for (const name of rows(selectNames(`${RELEASES} EXCEPT ${PUBLISHED}`, RELEASE_NAME))) {
    yield damage(name, 'its publish event is missing', FROM_BACKUP);
  }
  const missing = selectNames(`${PUBLISHED} EXCEPT ${RELEASES}`, RELEASE_NAME);
  for (const name of rows(`${missing} WHERE NOT EXISTS (
      SELECT 1 FROM takedown WHERE takedown.group_name = one.group_name
        AND takedown.kind_folded = lower(one.kind) AND takedown.release = one.release)`)) {
    yield damage(name, 'an event refers to it, but it is missing', FROM_BACKUP);
  }
  for (const name of rows(selectNames(`${SNAPSHOTS} EXCEPT ${CUT}`, SNAPSHOT_NAME))) {
    yield damage(name, 'its snapshot event is missing', FROM_BACKUP);
  }
  for (const name of rows(
    selectNames(`${CUT} AND catalog NOT IN (${PURGED_CATALOGS}) EXCEPT ${SNAPSHOTS}`, SNAPSHOT_NAME),
  )) {
    yield damage(name, 'an event refers to it, but it is missing', FROM_BACKUP);
  }
  for (const name of rows(`SELECT name FROM catalog WHERE max(through_event, applied_event) > ${last}`)) {
    yield damage(`catalog ${name}`, 'its last event is missing', FROM_BACKUP);
  }
};

const RELEASES = `SELECT group_name, kind, release.release, digest
  FROM release JOIN function ON function.id = function_id`;
const PUBLISHED = `SELECT group_name, kind, release, digest FROM event WHERE type = 'release.published'`;
const RELEASE_NAME = `group_name || '/' || kind || '@' || release`;

const SNAPSHOTS = 'SELECT catalog, serial, digest FROM snapshot';
const CUT = `SELECT catalog, serial, digest FROM event WHERE type = 'catalog.cut'`;
const SNAPSHOT_NAME = `'snapshot ' || catalog || ' ' || serial`;

function selectNames(query: string, name: string): string {
  return `SELECT ${name} FROM (${query}) AS one`;
}
