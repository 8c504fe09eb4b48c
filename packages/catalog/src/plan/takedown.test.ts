import { KrmhubError, sha256, type Takedown } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { ReleaseBundle, ReleaseRecord } from '../ports/records.js';
import {
  functionDefinition,
  functionRecord,
  lifecycleRecord,
  NOW,
  releaseRecord,
} from '../testing/records.js';
import { displayedReleaseAfterTakedown, planTakedown, tombstoneConflict } from './takedown.js';

const NAME = { group: 'example.com', kind: 'SetLabels' };
const described = (release: string, text = `about ${release}`, overrides: Partial<ReleaseRecord> = {}) =>
  releaseRecord(release, functionDefinition({ description: text }), overrides);
const OLD = described('1.0.0');
const NEW = described('2.0.0');

function createTakedown({ release, digest }: ReleaseRecord): Takedown {
  return { ...NAME, release, digest, at: NOW, by: 'root', reason: 'holds a password' };
}

/** Plans as a registry does: reads the record that the plan needs by name. */
function plan(target: ReleaseRecord, releases: ReleaseRecord[]) {
  const current = releases.length === 0 ? undefined : functionRecord(releases, 7);
  const name = displayedReleaseAfterTakedown(current, target.digest);
  const shown = releases.find(({ release }) => release === name);
  return planTakedown({ current, takedown: createTakedown(target), displayed: shown });
}

describe('a takedown', () => {
  it('displays the newest remaining release in search', () => {
    expect(plan(NEW, [OLD, NEW])).toEqual({
      ...NAME,
      expectedRevision: 7,
      takedowns: [createTakedown(NEW)],
      search: expect.objectContaining({ release: '1.0.0', description: 'about 1.0.0', yanked: false }),
    });
    expect(plan(OLD, [OLD, NEW]).search).toMatchObject({ release: '2.0.0' });
    const yanked = described('1.0.0', 'about 1.0.0', { yanked: lifecycleRecord('broken') });
    expect(plan(NEW, [yanked, NEW]).search).toMatchObject({ release: '1.0.0', yanked: true });
  });

  it('of the only release removes the function from search', () => {
    expect(plan(NEW, [NEW])).not.toHaveProperty('search');
  });

  it('includes every release with the same bytes', () => {
    const again = described('2.0.1', 'about 2.0.0');
    expect(again.digest).toBe(NEW.digest);
    const planned = plan(NEW, [OLD, NEW, again]);
    expect(planned.takedowns).toEqual([createTakedown(NEW), { ...createTakedown(NEW), release: '2.0.1' }]);
    expect(planned.search).toMatchObject({ release: '1.0.0' });
    expect(plan(again, [NEW, again])).not.toHaveProperty('search');
  });

  it('stores the signers of each release in its tombstone, and those of a record', () => {
    const key = (character: string) =>
      ({ type: 'key', fingerprint: `sha256:${character.repeat(64)}` }) as const;
    const signed = (character: string, signer = key(character)): ReleaseBundle => ({
      digest: signer.fingerprint,
      size: 1,
      manifest: 'sha256:m',
      claim: 'signature',
      predicateType: 'https://krmhub.dev/release/v1',
      signer,
      receivedAt: NOW,
      receivedBy: 'alice',
    });
    const attested: ReleaseBundle = { ...signed('e'), claim: 'attestation' };
    const { signer: _, ...unknown } = signed('f');
    const first = { ...NEW, bundles: [signed('a'), attested, signed('a')] };
    const again = described('2.0.1', 'about 2.0.0', { bundles: [signed('b'), unknown] });
    const listSigners = (takedown: Takedown) =>
      planTakedown({
        current: functionRecord([first, again], 7),
        takedown,
        displayed: undefined,
      }).takedowns.map(({ release, signers }) => [release, signers]);
    const unidentified = { type: 'unidentified' };
    expect(listSigners(createTakedown(first))).toEqual([
      ['2.0.0', [key('a')]],
      ['2.0.1', [key('b'), unidentified]],
    ]);
    expect(listSigners({ ...createTakedown(first), signers: [key('c'), key('a')] })[0]).toEqual([
      '2.0.0',
      [key('c'), key('a')],
    ]);
  });

  it('creates a tombstone for a release that does not exist', () => {
    expect(plan(NEW, [])).toEqual({
      ...NAME,
      expectedRevision: 0,
      takedowns: [createTakedown(NEW)],
    });
    expect(plan(NEW, [OLD])).toMatchObject({
      takedowns: [createTakedown(NEW)],
      search: { release: '1.0.0' },
    });
  });

  it('is rejected if the release has other bytes', () => {
    const other = described('2.0.0', 'something else');
    expect(() => plan(NEW, [other])).toThrow(KrmhubError);
    expect(() => plan(NEW, [other])).toThrow(other.digest);
  });

  it('uses the spelling of the function in the registry', () => {
    const current = functionRecord([NEW], 1);
    const takedown = { ...createTakedown(NEW), kind: 'setlabels' };
    expect(planTakedown({ current, takedown, displayed: undefined })).toMatchObject({
      kind: 'SetLabels',
      takedowns: [{ kind: 'SetLabels' }],
    });
  });

  it('requires the record of the displayed release', () => {
    const current = functionRecord([OLD, NEW]);
    expect(() => planTakedown({ current, takedown: createTakedown(NEW), displayed: NEW })).toThrow(
      RangeError,
    );
    expect(() => planTakedown({ current, takedown: createTakedown(NEW), displayed: undefined })).toThrow(
      RangeError,
    );
  });
});

describe('a release that was taken down', () => {
  const takedowns = [createTakedown(OLD)];
  const other = sha256('other');

  it('is never published again, by name or by bytes', () => {
    expect(tombstoneConflict(takedowns, { release: '1.0.0', digest: other })).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('its name cannot be used again'),
      takedowns,
    });
    expect(tombstoneConflict(takedowns, { release: '1.0.1', digest: OLD.digest })).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('holds a password'),
      takedowns,
    });
  });

  it('does not affect other releases', () => {
    expect(tombstoneConflict(takedowns, { release: '1.0.1', digest: other })).toBeUndefined();
    expect(tombstoneConflict([], { release: '1.0.0', digest: OLD.digest })).toBeUndefined();
  });
});
