import { describe, expect, it } from 'vitest';
import { HUB, lockedFunction, sampleDigest } from '../testing/locks.js';
import { judgeLockedCatalog, judgeLockedEntry } from './judge-catalog.js';
import type { LockedCatalog } from './lock.js';

const locked: LockedCatalog = { reference: HUB, name: 'platform', serial: 12, digest: sampleDigest('c') };
const message = (read: Parameters<typeof judgeLockedCatalog>[1], one = locked) =>
  judgeLockedCatalog(one, read)?.message;

describe('a catalog beside a lock', () => {
  it('may be the locked snapshot or a later one', () => {
    expect(message({ name: 'platform', serial: 12, digest: sampleDigest('c') })).toBeUndefined();
    expect(message({ name: 'platform', serial: 13, digest: sampleDigest('d') })).toBeUndefined();
  });

  it('is refused when it was rolled back', () => {
    expect(message({ serial: 11, digest: sampleDigest('b') })).toBe(
      `catalog ${HUB}: it serves snapshot 11, which is older than the locked snapshot 12`,
    );
  });

  it('is refused when the locked snapshot was rewritten', () => {
    expect(message({ serial: 12, digest: sampleDigest('d') })).toMatch(
      /snapshot 12 differs from the locked snapshot: got sha256:ddd.*, expected sha256:ccc/,
    );
  });

  it('is refused when it no longer has a serial, or is another catalog', () => {
    expect(message({ digest: sampleDigest('c') })).toMatch(
      /no longer has a serial, but snapshot 12 is locked/,
    );
    expect(message({ name: 'other', serial: 40 })).toMatch(
      /is now the catalog other, but platform is locked/,
    );
  });

  it('without snapshots may change', () => {
    const file = { reference: 'catalog.yaml', digest: sampleDigest('c') };
    expect(message({ digest: sampleDigest('d') }, file)).toBeUndefined();
  });
});

describe('an entry beside a lock', () => {
  const entry = lockedFunction();

  it('may differ only in a later snapshot, where it is an update', () => {
    const other = sampleDigest('9');
    expect(judgeLockedEntry(entry, locked, { serial: 12, definition: entry.definition })).toBeUndefined();
    expect(judgeLockedEntry(entry, locked, { serial: 13, definition: other })).toBeUndefined();
    // The function is locked at an earlier snapshot than the catalog.
    const earlier = { ...entry, serial: 11 };
    expect(judgeLockedEntry(earlier, locked, { serial: 12, definition: other })).toBeUndefined();
    expect(judgeLockedEntry(earlier, locked, { serial: 11, definition: other })).toBeDefined();
    expect(judgeLockedEntry(entry, locked, { serial: 12, definition: other })?.message).toMatch(
      /example.com\/v1 JavaApplication in snapshot 12 differs from the locked definition: got sha256:999/,
    );
  });
});
