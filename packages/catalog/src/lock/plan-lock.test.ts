import { describe, expect, it } from 'vitest';
import { HUB, lockedFunction, sampleDigest, TEAM } from '../testing/locks.js';
import type { Lock } from './lock.js';
import { planLock } from './plan-lock.js';

const hub = (serial: number) => ({
  reference: HUB,
  name: 'platform',
  serial,
  digest: sampleDigest(String(serial % 10)),
});
const team = { reference: TEAM, digest: sampleDigest('b') };
const java = lockedFunction();
const logger = lockedFunction({ kind: 'Logger', notIn: [TEAM] });
const before: Lock = { catalogs: [team, hub(12)], functions: [java, logger] };

describe('planning a lock', () => {
  it('keeps what is locked, and the state of its catalogs', () => {
    expect(planLock([{ fn: logger }, { fn: java }], before)).toEqual(before);
  });

  it('drops what is no longer used, with the catalogs that nothing else needs', () => {
    expect(planLock([{ fn: java }], before)).toEqual({ catalogs: [hub(12)], functions: [java] });
    expect(planLock([], before)).toEqual({ catalogs: [], functions: [] });
  });

  it('adds what is new, with the state in which its catalogs were read', () => {
    expect(planLock([{ fn: java, read: [hub(3)] }])).toEqual({ catalogs: [hub(3)], functions: [java] });
    expect(planLock([{ fn: logger, read: [team, hub(3)] }]).catalogs).toEqual([team, hub(3)]);
  });

  it('says of what stays at which snapshot it was found, where its catalog moves on', () => {
    const added = lockedFunction({ kind: 'Added' });
    const moved = planLock([{ fn: java }, { fn: added, read: [hub(13)] }], before);
    expect(moved).toEqual({ catalogs: [hub(13)], functions: [added, { ...java, serial: 12 }] });
    // It still does when nothing changes, and when the catalog moves on once more.
    expect(
      planLock(
        moved.functions.map((fn) => ({ fn })),
        moved,
      ),
    ).toEqual(moved);
    const [, kept] = moved.functions;
    const again = planLock([{ fn: kept! }, { fn: added, read: [hub(14)] }], moved);
    expect(again.functions).toEqual([added, { ...java, serial: 12 }]);
    // And no longer when it is upgraded itself.
    expect(planLock([{ fn: java, read: [hub(14)] }], moved).functions).toEqual([java]);
    // Also of what is found in an earlier snapshot than the newest one.
    expect(planLock([{ fn: { ...java, serial: 3 }, read: [hub(14)] }], moved)).toEqual({
      catalogs: [hub(14)],
      functions: [{ ...java, serial: 3 }],
    });
  });

  it('makes one entry of what several layers use, with every catalog that did not have it', () => {
    const other = 'https://other.example.com';
    const uses = [
      { fn: logger, read: [team, hub(1)] },
      { fn: lockedFunction({ kind: 'Logger', notIn: [other] }), read: [{ reference: other }, hub(1)] },
    ];
    expect(planLock(uses)).toEqual({
      catalogs: [team, hub(1), { reference: other }],
      functions: [{ ...logger, notIn: [TEAM, other] }],
    });
  });
});
