import type { SnapshotSignature } from '@krmhub/catalog';
import { type Digest, SNAPSHOT_RENDITIONS, type SnapshotRendition, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, applySample, changeOf } from './sample-records.js';

const KEY = sha256('a key');
const EXPIRES = '2030-02-01T00:00:00.000Z';

function signatureOf(
  catalog: string,
  serial: number,
  more: Partial<SnapshotSignature> = {},
): SnapshotSignature {
  const bundle = `{"of":"${catalog} ${serial} 漢"}`;
  return { catalog, serial, bundle, key: KEY, signedAt: AT, expiresAt: EXPIRES, ...more };
}

export function signatureContract(harness: () => RegistryStoreHarness): void {
  const store = (): RegistryStore => harness().store;

  const apply = (name: string) => applySample(store(), name);

  const bad = changeOf({ kind: 'Bad', release: '1.0.0' });

  /** Builds a snapshot with one entry; signed if a signature is given. */
  const cut = async (name: string, signature?: SnapshotSignature, fields: object = {}) => {
    const catalog = (await store().catalog(name))!;
    const serial = (catalog.newest?.serial ?? 0) + 1;
    const text = `${name} ${serial}`;
    const digests = Object.fromEntries(
      SNAPSHOT_RENDITIONS.map((form) => [form, sha256(`${form} ${text}`)]),
    ) as Record<SnapshotRendition, Digest>;
    const entry = { digest: sha256(text), yaml: text, json: text };
    const { group, kind, release, digest } = bad.release;
    await store().commitSnapshot({
      catalog: name,
      expectedThroughEvent: catalog.throughEvent,
      throughEvent: await store().lastEvent(),
      changed: [
        {
          group,
          kind,
          versions: [{ name: 'v1', source: 'ours', release, definition: digest }],
          shadowed: [],
          yanked: [],
          entry: entry.digest,
        },
      ],
      entries: [entry],
      snapshot: {
        catalog: name,
        serial,
        previous: catalog.newest?.digests['catalog.yaml'] ?? null,
        digests,
        functions: 1,
        createdAt: AT,
      },
      event: { type: 'catalog.cut', at: AT, by: 'krmhub', catalog: name, serial },
      ...(signature === undefined ? {} : { signature }),
      ...fields,
    });
  };

  describe('signatures of snapshots', () => {
    it('are stored with their snapshot, each separately, and survive a restart', async () => {
      await apply('a');
      await apply('b');
      expect(await store().hasSignatures()).toBe(false);
      await cut('a', signatureOf('a', 1));
      await cut('a', signatureOf('a', 2));
      await cut('b');
      const again = (await harness().reopen?.()) ?? store();
      expect(await again.hasSignatures()).toBe(true);
      expect(await again.signatureKeys()).toEqual([signatureOf('a', 1).key]);
      expect(await again.snapshotSignature('a', 1)).toEqual(signatureOf('a', 1));
      expect(await again.snapshotSignature('a', 2)).toEqual(signatureOf('a', 2));
      for (const [name, serial] of [
        ['a', 3],
        ['b', 1],
        ['c', 1],
      ] as const) {
        expect(await again.snapshotSignature(name, serial)).toBeUndefined();
      }
    });

    it('are not stored without the snapshot', async () => {
      await apply('a');
      await cut('a', signatureOf('a', 1));
      await expect(cut('a', signatureOf('a', 2), { expectedThroughEvent: 9_999 })).rejects.toThrow();
      expect(await store().snapshotSignature('a', 2)).toBeUndefined();
      expect(await store().snapshot('a', 2)).toBeUndefined();
    });

    it('are renewed in place, also for an unsigned snapshot, and never for an unknown one', async () => {
      await apply('a');
      await cut('a', signatureOf('a', 1));
      const renewed = signatureOf('a', 1, { bundle: '{"renewed":true}', key: sha256('another key') });
      expect(await store().renewSignature(renewed)).toBe(true);
      expect(await store().snapshotSignature('a', 1)).toEqual(renewed);
      expect(await store().renewSignature(signatureOf('a', 2))).toBe(false);
      expect(await store().snapshotSignature('a', 2)).toBeUndefined();
      await cut('a');
      expect(await store().renewSignature(signatureOf('a', 2))).toBe(true);
      expect(await store().snapshotSignature('a', 2)).toEqual(signatureOf('a', 2));
    });

    it('are found by the digest of the bundle, in their catalog and while they exist', async () => {
      await apply('a');
      await apply('b');
      const first = signatureOf('a', 1);
      await cut('a', first);
      await cut('b');
      expect(await store().signatureBundle('a', sha256(first.bundle))).toBe(first.bundle);
      expect(await store().signatureBundle('b', sha256(first.bundle))).toBeUndefined();
      await store().renewSignature(signatureOf('a', 1, { bundle: '{}' }));
      expect(await store().signatureBundle('a', sha256(first.bundle))).toBeUndefined();
    });

    it('are deleted with a withdrawn snapshot, and do not come back', async () => {
      await store().commitFunction(bad);
      await apply('a');
      await cut('a', signatureOf('a', 1));
      const { group, kind, release, digest } = bad.release;
      const takedown = { group, kind, release, digest, at: AT, by: 'root', reason: 'malware' };
      const { withdrawn } = await store().commitTakedown({
        group,
        kind,
        expectedRevision: 1,
        takedowns: [takedown],
      });
      expect(withdrawn).toMatchObject([{ catalog: 'a', serial: 1 }]);
      expect(await store().snapshotSignature('a', 1)).toBeUndefined();
      expect(await store().hasSignatures()).toBe(false);
      expect(await store().renewSignature(signatureOf('a', 1))).toBe(false);
      expect(await store().snapshotSignature('a', 1)).toBeUndefined();
    });
  });
}
