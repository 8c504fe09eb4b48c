import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { SourceRecord, SourceRefresh, UpstreamEntry } from '../ports/source-records.js';
import type { AcceptedCopy } from './evaluate-copy.js';
import { type PollOutcome, planRefresh, REFRESH_LIMITS } from './plan-refresh.js';

const AT = '2030-01-02T03:04:05.678Z';
const after = (seconds: number) => new Date(Date.parse(AT) + seconds * 1_000).toISOString();
const BEFORE = after(-3_600);
const UPSTREAM = { url: 'https://example.com/catalog.yaml', refreshSeconds: 3_600 };

function createEntry(kind: string, text = kind): Omit<UpstreamEntry, 'firstSeen'> {
  return {
    group: 'example.com',
    kind,
    definition: sha256(text),
    versions: [],
    tags: [],
    publisher: 'Somebody',
    runtimes: ['container'],
    licenses: ['MIT'],
  };
}
const entryName = ({ group, kind, definition }: Omit<UpstreamEntry, 'firstSeen'>) => ({
  group,
  kind,
  definition,
});

const fresh: SourceRecord = { catalog: 'c', source: 's', url: UPSTREAM.url, nextAt: BEFORE };
const known: SourceRecord = {
  ...fresh,
  checkedAt: BEFORE,
  copy: {
    digest: sha256('old'),
    size: 3,
    fetchedAt: BEFORE,
    validators: { etag: 'old' },
    entries: 1,
    invalid: [],
    invalidEntries: 0,
    signatures: [],
  },
};
const failing: SourceRecord = {
  ...known,
  failure: { problem: 'unreachable', message: 'no response', since: BEFORE, attempts: 3 },
};

const fetched = (
  entries = [createEntry('A')],
  more: Partial<Extract<PollOutcome, { outcome: 'fetched' }>> = {},
): PollOutcome => ({
  outcome: 'fetched',
  digest: sha256('new'),
  size: 9,
  validators: { etag: 'new' },
  accepted: { signatures: [] },
  entries,
  invalid: [],
  invalidEntries: 0,
  ...more,
});
const unchanged = (accepted: AcceptedCopy = { signatures: [] }): PollOutcome => ({
  outcome: 'unchanged',
  validators: { etag: 'newer' },
  accepted,
});
const failed = (more: object = {}): PollOutcome => ({
  outcome: 'failed',
  problem: 'unreachable',
  message: 'no response',
  ...more,
});

function plan(
  record: SourceRecord,
  outcome: PollOutcome,
  more: Partial<Parameters<typeof planRefresh>[0]> = {},
): SourceRefresh {
  return planRefresh({
    record,
    upstream: UPSTREAM,
    policies: [],
    known: record.copy === undefined ? [] : [entryName(createEntry('A'))],
    outcome,
    now: AT,
    jitter: 0.5,
    ...more,
  });
}

describe('a refresh of a source', () => {
  it('accepts the first copy', () => {
    const invalid = [{ entry: 2, message: 'it has no kind' }];
    expect(
      plan(fresh, fetched([createEntry('A'), createEntry('B')], { invalid, invalidEntries: 7 })),
    ).toEqual({
      expected: fresh,
      record: {
        ...fresh,
        checkedAt: AT,
        nextAt: after(3_600),
        copy: {
          digest: sha256('new'),
          size: 9,
          fetchedAt: AT,
          validators: { etag: 'new' },
          entries: 2,
          invalid,
          invalidEntries: 7,
          signatures: [],
        },
      },
      put: [
        { ...createEntry('A'), firstSeen: AT },
        { ...createEntry('B'), firstSeen: AT },
      ],
      removed: [],
      reevaluate: false,
      purgeGoneBefore: after(-REFRESH_LIMITS.retentionDays * 86_400),
      event: {
        type: 'source.changed',
        at: AT,
        by: 'krmhub',
        catalog: 'c',
        source: 's',
        digest: sha256('new'),
      },
    });
    expect(plan(fresh, fetched([])).event?.type).toBe('source.changed');
  });

  it('finds added, removed, and changed entries', () => {
    const before = [createEntry('A'), createEntry('B'), createEntry('C')].map(entryName);
    const { put, removed, event } = plan(
      known,
      fetched([createEntry('A'), createEntry('B', 'b'), createEntry('D')]),
      {
        known: before,
      },
    );
    expect(put.map(({ kind, definition }) => [kind, definition])).toEqual([
      ['B', sha256('b')],
      ['D', sha256('D')],
    ]);
    expect(removed).toEqual([before[1], before[2]]);
    expect(event?.type).toBe('source.changed');
  });

  it('keeps unchanged entries that were not parsed', () => {
    const before = [createEntry('A'), createEntry('B'), createEntry('C')].map(entryName);
    const outcome = fetched([createEntry('B', 'b')], { unchanged: [before[0]!] });
    const { put, removed, record } = plan(known, outcome, { known: before });
    expect(put.map(({ kind, definition }) => [kind, definition])).toEqual([['B', sha256('b')]]);
    expect(removed).toEqual([before[1], before[2]]);
    expect(record.copy?.entries).toBe(2);
  });

  it('emits no event without a change', () => {
    const { record, event, put, removed } = plan(known, unchanged());
    expect(record).toEqual({
      ...known,
      checkedAt: AT,
      nextAt: after(3_600),
      copy: { ...known.copy, validators: { etag: 'newer' } },
    });
    expect([event, put, removed]).toEqual([undefined, [], []]);
    // Other bytes with the same entries.
    const other = plan(known, fetched());
    expect(other.event).toBeUndefined();
    expect(other.record.copy).toMatchObject({ digest: sha256('new'), fetchedAt: AT });
    expect(
      plan(known, fetched(undefined, { invalid: [{ entry: 1, message: 'x' }], invalidEntries: 1 })).event
        ?.type,
    ).toBe('source.changed');
  });

  it('keeps the last good copy after a failure, and emits an event for the first failure', () => {
    const first = plan(known, failed());
    expect(first).toMatchObject({ put: [], removed: [], reevaluate: false });
    expect(first.record).toEqual({
      ...known,
      checkedAt: AT,
      nextAt: after(60),
      failure: { problem: 'unreachable', message: 'no response', since: AT, attempts: 1 },
    });
    expect(first.event).toMatchObject({ type: 'source.failing', source: 's', reason: 'no response' });
    const again = plan(failing, failed({ problem: 'rollback', message: 'x'.repeat(5_000) }));
    expect(again.event).toBeUndefined();
    expect(again.record.failure).toEqual({
      problem: 'rollback',
      message: 'x'.repeat(REFRESH_LIMITS.maxMessageLength),
      since: BEFORE,
      attempts: 4,
    });
    expect(plan(fresh, failed()).record.copy).toBeUndefined();
  });

  it('retries with increasing delays, up to the interval of the source', () => {
    const delays = [];
    let record = known;
    for (let attempt = 0; attempt < 9; attempt++) {
      record = plan(record, failed()).record;
      delays.push((Date.parse(record.nextAt) - Date.parse(AT)) / 1_000);
    }
    expect(delays).toEqual([60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
    const asked = plan(known, failed({ retryAfterSeconds: 600 })).record.nextAt;
    expect(asked).toBe(after(600));
    expect(plan(known, failed({ retryAfterSeconds: 1e9 })).record.nextAt).toBe(after(3_600));
    const many = { ...failing, failure: { ...failing.failure!, attempts: 5_000 } };
    expect(plan(many, failed()).record.nextAt).toBe(after(3_600));
  });

  it('adds jitter to the interval', () => {
    const next = (jitter: number, outcome: PollOutcome) => plan(known, outcome, { jitter }).record.nextAt;
    expect([next(0, unchanged()), next(1, unchanged())]).toEqual([after(3_240), after(3_960)]);
    expect([next(0, failed()), next(1, failed())]).toEqual([after(54), after(66)]);
  });

  it('emits an event when a source recovers', () => {
    for (const outcome of [unchanged(), fetched()]) {
      const { record, event } = plan(failing, outcome);
      expect(record.failure).toBeUndefined();
      expect(event?.type).toBe('source.recovered');
    }
    expect(plan(failing, fetched([])).event?.type).toBe('source.changed');
  });

  it('evaluates all entries again if the signers change', () => {
    const signer = { type: 'key' as const, fingerprint: sha256('key') };
    const policies = [
      {
        name: 'p',
        groups: ['*'],
        signers: [{ key: 'PEM', fingerprint: signer.fingerprint, validUntil: after(60) }],
      },
    ];
    const signature = (receivedAt: string) => ({ signatures: [{ signer, receivedAt }] });
    const signed = { ...known, copy: { ...known.copy!, ...signature(BEFORE) } };
    const newly = plan(known, unchanged(signature(AT)), { policies });
    expect(newly).toMatchObject({ reevaluate: true, put: [], event: { type: 'source.changed' } });
    expect(newly.record.copy?.signatures).toHaveLength(1);
    expect(plan(signed, fetched(undefined, { accepted: signature(AT) }), { policies })).toMatchObject({
      reevaluate: false,
    });
    expect(plan(signed, fetched(undefined, { accepted: signature(after(60)) }), { policies })).toMatchObject({
      reevaluate: true,
    });
    expect(plan(known, unchanged(signature(AT)))).toMatchObject({ reevaluate: false });
    expect(plan(fresh, fetched(undefined, { accepted: signature(AT) }), { policies })).toMatchObject({
      reevaluate: false,
    });
  });

  it('stores the highest serial and the newest signature', () => {
    const snapshot = { catalog: 'theirs', serial: 4, expires: after(60) };
    const highest = { serial: 4, digest: sha256('old') };
    const { record } = plan(known, unchanged({ signatures: [], snapshot, highest }));
    expect(record).toMatchObject({ highest, copy: { snapshot } });
    const later = plan({ ...record }, unchanged({ signatures: [], highest })).record;
    expect(later.highest).toEqual(highest);
    expect(later.copy?.snapshot).toBeUndefined();
  });
});
