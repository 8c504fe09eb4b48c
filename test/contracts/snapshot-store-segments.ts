import { RevisionConflict, type SegmentChanges } from '@krmhub/catalog';
import { type Digest, SNAPSHOT_RENDITIONS, type SnapshotRendition, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { AT, applySample } from './sample-records.js';

/** The contract of every store of segments. */
export function segmentContract(store: () => RegistryStore): void {
  const apply = (name: string) => applySample(store(), name);
  const at = (kind: string, text: string) => ({
    group: 'example.com',
    kind,
    digest: sha256(text),
    lines: `lines of ${text}`,
  });
  const content = (text: string) => ({
    digest: sha256(text),
    yaml: Buffer.from(`yaml ${text}`),
    json: Buffer.from(`json of ${text}`),
  });
  const documents = Object.fromEntries(
    SNAPSHOT_RENDITIONS.map((rendition, index) => [
      rendition,
      { bytes: index, crc32: 4_000_000_000 + index },
    ]),
  ) as Record<SnapshotRendition, { bytes: number; crc32: number }>;
  const cut = async (name: string, segments?: SegmentChanges) => {
    const catalog = await store().catalog(name);
    const serial = (catalog?.newest?.serial ?? 0) + 1;
    const digest: Digest = sha256(`${name} ${serial}`);
    await store().commitSnapshot({
      catalog: name,
      expectedThroughEvent: catalog?.throughEvent ?? 0,
      throughEvent: await store().lastEvent(),
      changed: [],
      entries: [],
      snapshot: {
        catalog: name,
        serial,
        previous: catalog?.newest?.digests['catalog.yaml'] ?? null,
        digests: Object.fromEntries(SNAPSHOT_RENDITIONS.map((one) => [one, digest])) as Record<
          SnapshotRendition,
          Digest
        >,
        ...(segments === undefined ? {} : { documents }),
        functions: 1,
        createdAt: AT,
      },
      ...(segments === undefined ? {} : { segments }),
      event: { type: 'catalog.cut', at: AT, by: 'krmhub', catalog: name, serial },
    });
  };
  const held = async (name: string, serial: number) =>
    (await store().segments(name, serial))?.map(({ kind, digest }) => `${kind} ${texts.get(digest)}`);
  const texts = new Map(['one', 'two', 'three'].map((text) => [sha256(text), text]));
  const name = (kind: string) => ({ group: 'example.com', kind });

  describe('segments', () => {
    it('are those of the newest snapshot, in order, and contents that are in no other catalog are deleted', async () => {
      await apply('c');
      await apply('d');
      const contents = [content('one'), content('two')];
      await cut('c', { removed: [], added: [at('B', 'two'), at('A', 'one')], contents });
      await cut('d', { removed: [], added: [at('X', 'two')], contents: [] });
      expect(await held('c', 1)).toEqual(['A one', 'B two']);
      expect((await store().segments('c', 1))?.[0]?.compressed).toEqual({ yaml: 8, json: 11 });
      expect((await store().snapshot('c', 1))?.documents).toEqual(documents);
      const lines: string[] = [];
      for await (const one of store().segmentLines('c')) lines.push(`${one.kind} ${one.lines}`);
      expect(lines).toEqual(['A lines of one', 'B lines of two']);
      const [yaml, json] = [
        await store().segmentBytes([sha256('two'), sha256('one')], 'yaml'),
        await store().segmentBytes([sha256('one'), sha256('three')], 'json'),
      ];
      expect(yaml.map(String)).toEqual(['yaml two', 'yaml one']);
      expect(json.map((one) => one && String(one))).toEqual(['json of one', undefined]);
      expect(await store().segmentContents([sha256('two'), sha256('three'), sha256('one')])).toEqual([
        content('two'),
        undefined,
        content('one'),
      ]);

      const added = [at('A', 'three')];
      await cut('c', { removed: [name('A'), name('B')], added, contents: [content('three')] });
      expect(await held('c', 2)).toEqual(['A three']);
      expect(await store().segments('c', 1)).toBeUndefined();
      expect(await store().missingSegments([...texts.keys()])).toEqual([sha256('one')]);
      await cut('d', { removed: [name('X')], added: [], contents: [] });
      expect(await store().missingSegments([...texts.keys()])).toEqual([sha256('one'), sha256('two')]);
      expect(await held('d', 2)).toEqual([]);
    });

    it('reject a build whose content was deleted meanwhile, as a whole', async () => {
      await apply('c');
      const changes = { removed: [], added: [at('A', 'one')], contents: [] };
      await expect(cut('c', changes)).rejects.toThrow(RevisionConflict);
      expect(await store().snapshots('c', 9)).toEqual([]);
      await store().storeSegments([content('one')]);
      await cut('c', changes);
      expect(await held('c', 1)).toEqual(['A one']);
    });

    it('are added to a snapshot of an older version, if it is still the newest', async () => {
      await apply('c');
      await cut('c');
      const segments = { removed: [], added: [at('A', 'one')], contents: [content('one')] };
      expect(await held('c', 1)).toEqual([]);
      expect(await store().addSegments({ catalog: 'c', serial: 1, segments, documents })).toBe(true);
      expect(await held('c', 1)).toEqual(['A one']);
      expect((await store().catalog('c'))?.newest?.documents).toEqual(documents);
      await cut('c');
      expect(await store().addSegments({ catalog: 'c', serial: 1, segments, documents })).toBe(false);
    });

    it('replace what is stored', async () => {
      await apply('c');
      await store().storeSegments([{ ...content('one'), yaml: Buffer.from('damaged') }]);
      await store().storeSegments([content('one')]);
      await store().storeSegments([{ ...content('two'), json: Buffer.from('damaged') }]);
      await cut('c', { removed: [], added: [at('A', 'one'), at('B', 'two')], contents: [content('two')] });
      expect(await store().segmentContents([sha256('one'), sha256('two')])).toEqual([
        content('one'),
        content('two'),
      ]);
    });

    it('are deleted if no catalog has them', async () => {
      await apply('c');
      await store().storeSegments([content('one'), content('two')]);
      await store().storeSegments([content('one')]);
      await cut('c', { removed: [], added: [at('A', 'two')], contents: [] });
      await store().deleteUnusedSegments();
      expect(await store().missingSegments([...texts.keys()])).toEqual([sha256('one'), sha256('three')]);
    });
  });
}
