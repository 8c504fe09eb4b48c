/**
 * Reads fetched copies of upstream catalogs, and plans what a sync stores.
 *
 * A copy is untrusted. Reading it never throws, an invalid entry does not affect others, and after a failure the last
 * good copy remains.
 *
 * @module
 */

import { type CompletedEntry, canonicalJson, type Digest, type SourceWarning } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { signatureVerdicts } from '../policy/evaluate-signatures.js';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { EventType, Time } from '../ports/records.js';
import type {
  InvalidEntry,
  SourceCopy,
  SourceRecord,
  SourceRefresh,
  UpstreamEntry,
  UpstreamEntryName,
} from '../ports/source-records.js';
import type { UpstreamCatalog } from '../recipe/recipe.js';
import type { AcceptedCopy, Refusal } from './evaluate-copy.js';
import { readingDigest } from './reading.js';

/** Limits on syncs, with their units. */
export const REFRESH_LIMITS = {
  /** Seconds until the first retry. Each further retry doubles it, up to the interval of the source. */
  firstRetrySeconds: 60,
  /** Fraction by which an interval varies, so that many registries do not poll at the same time. */
  jitter: 0.1,
  /** Days for which the first-seen time of a removed entry is stored, or the minimum age if that is longer. */
  retentionDays: 90,
  /** Length of a stored message, in UTF-16 code units. */
  maxMessageLength: 1_000,
} as const;

/** The result of polling a source. */
export type PollOutcome =
  | ({
      outcome: 'failed';
      /** The delay that the server requests. */
      retryAfterSeconds?: number;
    } & Refusal)
  /** The bytes are those of the last good copy. */
  | { outcome: 'unchanged'; validators: Record<string, string>; accepted: AcceptedCopy }
  | {
      outcome: 'fetched';
      /** Digest of the exact bytes. */
      digest: Digest;
      /** Size in bytes. */
      size: number;
      validators: Record<string, string>;
      accepted: AcceptedCopy;
      /** All entries, without those in `unchanged`. */
      entries: readonly Omit<UpstreamEntry, 'firstSeen'>[];
      /** Current entries that the new copy also has. Absent for none. */
      unchanged?: readonly UpstreamEntryName[];
      invalid: InvalidEntry[];
      invalidEntries: number;
      completed?: CompletedEntry[];
      completedEntries?: number;
    };

export interface RefreshInput {
  record: SourceRecord;
  upstream: UpstreamCatalog;
  /** The source in the recipe. */
  policies: readonly SigningPolicy[];
  /** The current entries of the source. */
  known: readonly UpstreamEntryName[];
  outcome: PollOutcome;
  /** Warnings about the groups of a fetched catalog. */
  warnings?: readonly SourceWarning[];
  now: Time;
  /** A random number from 0 to 1. */
  jitter: number;
}

/** Plans the changes after polling a source. A failure keeps the last good copy. */
export function planRefresh(input: RefreshInput): SourceRefresh {
  const { record, outcome, now } = input;
  const remembered = Math.max(REFRESH_LIMITS.retentionDays * 86_400, input.upstream.minimumAgeSeconds ?? 0);
  const purgeGoneBefore = addSeconds(now, -remembered);
  const { minimumAgeSeconds } = input.upstream;
  const common = {
    expected: record,
    purgeGoneBefore,
    ...defined({ minimumAgeSeconds }),
  };
  const event = (type: EventType, more: { digest?: Digest; reason?: string }) => ({
    type,
    at: now,
    by: 'krmhub',
    catalog: record.catalog,
    source: record.source,
    ...more,
  });
  if (outcome.outcome === 'failed') {
    const failed = failedRecord(input, outcome);
    return {
      ...common,
      record: failed,
      put: [],
      removed: [],
      reevaluate: false,
      ...defined({
        event:
          record.failure === undefined
            ? event('source.failing', { reason: failed.failure!.message })
            : undefined,
      }),
    };
  }
  const copy = nextCopy(input, outcome);
  const { put, removed } = entryChanges(input);
  const reevaluate = record.copy !== undefined && hasOtherVerdicts(input.policies, record.copy, copy);
  const changed =
    put.length + removed.length > 0 ||
    reevaluate ||
    record.copy === undefined ||
    canonicalJson(reportedFields(record.copy)) !== canonicalJson(reportedFields(copy));
  const type = changed ? 'source.changed' : record.failure === undefined ? undefined : 'source.recovered';
  const { failure: _, highest: _highest, ...kept } = record;
  const { highest } = outcome.accepted;
  return {
    ...common,
    record: {
      ...kept,
      checkedAt: now,
      nextAt: addSeconds(now, withJitter(input.upstream.refreshSeconds, input.jitter)),
      copy,
      ...defined({ highest }),
    },
    put,
    removed,
    reevaluate: reevaluate,
    ...defined({ event: type === undefined ? undefined : event(type, { digest: copy.digest }) }),
  };
}

function failedRecord(
  { record, upstream, now, jitter }: RefreshInput,
  { problem, message, retryAfterSeconds = 0 }: Extract<PollOutcome, { outcome: 'failed' }>,
): SourceRecord {
  const attempts = (record.failure?.attempts ?? 0) + 1;
  const { firstRetrySeconds, maxMessageLength } = REFRESH_LIMITS;
  const wanted = Math.max(firstRetrySeconds * 2 ** Math.min(attempts - 1, 30), retryAfterSeconds);
  const delay = Math.min(wanted, upstream.refreshSeconds);
  return {
    ...record,
    checkedAt: now,
    nextAt: addSeconds(now, withJitter(delay, jitter)),
    failure: {
      problem,
      message: message.slice(0, maxMessageLength),
      since: record.failure?.since ?? now,
      attempts,
    },
  };
}

function nextCopy(
  { record, upstream, warnings = [], now }: RefreshInput,
  outcome: Exclude<PollOutcome, { outcome: 'failed' }>,
): SourceCopy {
  const { validators, accepted } = outcome;
  const { signatures, snapshot } = accepted;
  const signed = { signatures, ...defined({ snapshot }) };
  if (outcome.outcome === 'fetched') {
    const { digest, size, entries, unchanged = [], invalid, invalidEntries } = outcome;
    const { completed, completedEntries } = outcome;
    const reading = readingDigest(upstream);
    return {
      digest,
      size,
      fetchedAt: now,
      validators,
      entries: entries.length + unchanged.length,
      invalid,
      invalidEntries,
      ...defined({
        completed,
        completedEntries: completed === undefined ? undefined : (completedEntries ?? 0),
        warnings: warnings.length === 0 ? undefined : [...warnings],
        reading,
      }),
      ...signed,
    };
  }
  if (record.copy === undefined) throw new TypeError('what has no copy cannot be unchanged');
  const { snapshot: _, formerUrl: _url, ...copy } = record.copy;
  return { ...copy, validators, ...signed };
}

function entryChanges({ known, outcome, now }: RefreshInput): Pick<SourceRefresh, 'put' | 'removed'> {
  if (outcome.outcome !== 'fetched') return { put: [], removed: [] };
  const entryKey = ({ group, kind, definition }: UpstreamEntryName) => `${group}/${kind} ${definition}`;
  const before = new Set(known.map(entryKey));
  const after = new Set([...outcome.entries, ...(outcome.unchanged ?? [])].map(entryKey));
  return {
    put: outcome.entries
      .filter((entry) => !before.has(entryKey(entry)))
      .map((entry) => ({ ...entry, firstSeen: now })),
    removed: known.filter((entry) => !after.has(entryKey(entry))),
  };
}

/** Without a change of these fields, equal entries have equal results. */
function hasOtherVerdicts(
  policies: readonly SigningPolicy[],
  before: SourceCopy,
  after: SourceCopy,
): boolean {
  const said = ({ signatures }: SourceCopy) => signatureVerdicts(policies, signatures).sort().join('\n');
  return said(before) !== said(after);
}

/** The report fields of a copy, without its digest and serial, which can change alone. */
function reportedFields({
  invalid,
  invalidEntries,
  completed = [],
  completedEntries = 0,
  warnings = [],
}: SourceCopy) {
  return { invalid, invalidEntries, completed, completedEntries, warnings };
}

function withJitter(seconds: number, jitter: number): number {
  return seconds * (1 - REFRESH_LIMITS.jitter + 2 * REFRESH_LIMITS.jitter * jitter);
}

function addSeconds(time: Time, seconds: number): Time {
  return new Date(Date.parse(time) + seconds * 1_000).toISOString();
}
