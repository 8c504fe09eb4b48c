import type { Act, Event, NewAuditRow, NewEvent } from '@krmhub/catalog';
import type { AuditAction, EventType } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { inserter } from '../../sql/insert.js';
import { type StatementCall, together, type Work } from '../../sql/statement.js';
import { auditChange } from '../audit/append-audit.js';
import { events } from '../schema/schema.js';

const insert = inserter(events);

/** Events that are acts. The others report what the registry does after one. */
const ACTIONS: Partial<Record<EventType, AuditAction>> = {
  'release.published': 'release.publish',
  'release.attested': 'release.attach',
  'release.yanked': 'release.yank',
  'release.unyanked': 'release.unyank',
  'release.deprecated': 'release.deprecate',
  'release.undeprecated': 'release.undeprecate',
  'release.taken-down': 'release.take-down',
  'catalog.applied': 'catalog.apply',
  'catalog.deleted': 'catalog.delete',
  'catalog.restored': 'catalog.restore',
  'policy.applied': 'policy.apply',
  'access.applied': 'access.apply',
};

/** What an event is in the audit log. */
type Recorded = Pick<NewAuditRow, 'action' | 'object'>;

/** Appends an event, and its row of the audit log. `recorded` is for an event whose type does not say enough. */
export function* appendEvent(
  event: NewEvent,
  origin?: Act['origin'],
  recorded = recordedEvent(event),
): Work<Event> {
  const { id } = (yield* together(eventChanges(event, origin, recorded))) as { id: number };
  return { ...event, sequence: id };
}

/**
 * Returns the insertions of an event and of its row of the audit log for `together`. The last one returns the sequence
 * of the event as `id`.
 */
export function eventChanges(
  event: NewEvent,
  origin?: Act['origin'],
  recorded = recordedEvent(event),
): StatementCall[] {
  if (recorded === undefined) return [insert.later(event)];
  const { at, by, digest, reason } = event;
  const detail = defined({ digest, reason });
  const hasDetail = Object.keys(detail).length > 0;
  const act = { at, by, origin, ...recorded, outcome: 'done' as const };
  return [auditChange({ ...act, detail: hasDetail ? detail : undefined }), insert.later(event)];
}

function recordedEvent({ type, group, kind, release, catalog }: NewEvent): Recorded | undefined {
  const action = ACTIONS[type];
  if (action === undefined) return undefined;
  if (release !== undefined) return { action, object: `release/${group}/${kind}@${release}` };
  if (catalog !== undefined) return { action, object: `catalog/${catalog}` };
  return { action, object: action === 'access.apply' ? 'access' : 'policies' };
}
