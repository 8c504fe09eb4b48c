import { type Check, damage, FROM_BACKUP } from './finding.js';

/** The event log has no gap and tells of every release and snapshot, and of none that is not there. */
export const checkEvents: Check = async function* ({ client }) {
  const rows = (sql: string): string[] => client.prepare<[], string>(sql).pluck().all();
  // A number in front of which another is missing; the first is 1.
  const gaps = rows(`SELECT sequence FROM event AS later WHERE sequence > 1
    AND NOT EXISTS (SELECT 1 FROM event WHERE sequence = later.sequence - 1)`);
  const first = client.prepare<[], number | null>('SELECT min(sequence) FROM event').pluck().get();
  if (first != null && first > 1 && gaps.length === 0) gaps.push(String(first));
  for (const sequence of gaps) {
    yield damage(`event ${sequence}`, 'the event before it is missing', FROM_BACKUP);
  }
  const untold = rows(`SELECT group_name || '/' || kind || '@' || release.release
    FROM release JOIN function ON function.id = function_id WHERE NOT EXISTS (
      SELECT 1 FROM event WHERE type = 'release.published' AND event.group_name = function.group_name
        AND event.kind = function.kind AND event.release = release.release AND event.digest = release.digest)`);
  for (const name of untold) yield damage(name, 'no event tells of its publishing', FROM_BACKUP);
  const missing = rows(`SELECT group_name || '/' || kind || '@' || release FROM event
    WHERE type = 'release.published' AND NOT EXISTS (
      SELECT 1 FROM release JOIN function ON function.id = function_id
      WHERE function.group_name = event.group_name AND function.kind = event.kind
        AND release.release = event.release AND release.digest = event.digest)
    AND NOT EXISTS (
      SELECT 1 FROM takedown WHERE takedown.group_name = event.group_name
        AND takedown.kind_folded = lower(event.kind) AND takedown.release = event.release)`);
  for (const name of missing) yield damage(name, 'an event tells of it, and it is not there', FROM_BACKUP);
  const uncut = rows(`SELECT catalog || ' ' || serial FROM event WHERE type = 'catalog.cut' AND NOT EXISTS (
      SELECT 1 FROM snapshot WHERE snapshot.catalog = event.catalog AND snapshot.serial = event.serial
        AND snapshot.digest = event.digest)`);
  for (const name of uncut) {
    yield damage(`snapshot ${name}`, 'an event tells of it, and it is not there', FROM_BACKUP);
  }
  const ahead = rows(
    `SELECT name FROM catalog WHERE through_event > (SELECT coalesce(max(sequence), 0) FROM event)`,
  );
  for (const name of ahead) {
    yield damage(`catalog ${name}`, 'it was cut through an event that is not there', FROM_BACKUP);
  }
};
