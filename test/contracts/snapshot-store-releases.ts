import type { CatalogEntryRow, ServedRelease } from '@krmhub/catalog';
import { type EntryVersion, sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { seed } from '../seed.js';
import { place, sampleBuilds } from './sample-builds.js';
import { AT } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';

const GROUP = 'example.com';
const KINDS = ['A', 'B'];
const RELEASES = ['1.0.0', '1.1.0', '2.0.0'];
const ALL = 1_000;

/** Which snapshots of a catalog have which releases. */
export function servedReleasesContract(store: () => RegistryStore): void {
  const { apply, cut } = sampleBuilds(store);
  const digestOf = (kind: string, release: string) => sha256(`${kind}@${release}`);

  function randomRow(random: Random, kind: string): CatalogEntryRow {
    if (random.chance(0.15)) return place(kind, undefined);
    const versions = random.some(['v1', 'v2'], 0.8).map((name): EntryVersion => {
      const release = random.pick(RELEASES);
      const signed = release === '2.0.0' && { signedBy: 'the key of a team' };
      return { name, source: 'ours', release, definition: digestOf(kind, release), ...signed };
    });
    if (versions.length === 0) return place(kind, undefined);
    return { ...place(kind, `${kind} ${JSON.stringify(versions)}`), versions };
  }

  async function takeDown(kind: string, release: string): Promise<void> {
    const digest = digestOf(kind, release);
    const taken = { group: GROUP, kind, release, digest, at: AT, by: 'root', reason: 'malware' };
    await store().commitTakedown({ group: GROUP, kind, expectedRevision: 0, takedowns: [taken] });
  }

  /** The same, from the entries of every snapshot. */
  async function expected(kind: string, newest: number): Promise<ServedRelease[]> {
    const found = new Map<string, ServedRelease>();
    for (let serial = 1; serial <= newest; serial += 1) {
      const rows = await store().snapshotEntryRows('c', serial);
      const row = rows.find((one) => one.kind === kind);
      const isReadable = (await store().snapshot('c', serial))?.withdrawn === undefined;
      for (const { name: version, release = '', definition, signedBy } of row?.versions ?? []) {
        const key = [release, version, definition].join(' ');
        const { last: _, ...before } = found.get(key) ?? { release, version, definition, first: serial };
        found.set(key, {
          ...before,
          ...(signedBy !== undefined && { signedBy }),
          ...(serial < newest && { last: serial }),
          ...(isReadable && row?.entry !== undefined && { serial }),
        });
      }
    }
    return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  }

  describe('the releases of a catalog', () => {
    it(`are those of its snapshots, with the newest that can be read (seed ${seed})`, async () => {
      const random = new Random(seed);
      await apply('c', 'r');
      await apply('d', 'r');
      await cut('d', [place('A', 'elsewhere')], 'first');
      const left = new Map(KINDS.map((kind) => [kind, random.shuffled(RELEASES)]));
      let unread = 0;
      let ended = 0;
      for (let count = 0; count < 60; count += 1) {
        const kind = random.pick(KINDS);
        if (count > 20 && random.chance(0.08)) {
          const release = left.get(kind)!.pop();
          if (release !== undefined) await takeDown(kind, release);
        } else {
          // Without a text, the change waits for the next snapshot.
          const text = random.chance(0.8) ? `c ${count}` : undefined;
          await cut('c', [randomRow(random, kind)], text);
        }
        const newest = (await store().catalog('c'))?.newest?.serial ?? 0;
        const names = ['none', ...KINDS].map((one) => ({ group: GROUP, kind: one }));
        const found = await store().servedReleases('c', names, ALL);
        expect(found[0]).toEqual({ served: [], isAll: true });
        for (const [at, one] of KINDS.entries()) {
          const { served, isAll } = found[at + 1]!;
          expect(served).toEqual(await expected(one, newest));
          expect(isAll).toBe(true);
          unread += served.filter(({ serial }) => serial === undefined).length;
          ended += served.filter(({ last }) => last !== undefined).length;
        }
      }
      expect([unread > 0, ended > 0]).toEqual([true, true]);
    });

    it('are read from the newest states', async () => {
      await apply('c', 'r');
      const of = (release: string) => ({
        ...place('A', `at ${release}`),
        versions: [{ name: 'v1', source: 'ours', release, definition: digestOf('A', release) }],
      });
      for (const release of RELEASES) await cut('c', [of(release)], release);
      const read = async (limit: number) => {
        const [found] = await store().servedReleases('c', [{ group: GROUP, kind: 'A' }], limit);
        return [...found!.served.map(({ release, serial }) => `${release} ${serial}`), found!.isAll];
      };
      expect(await read(1)).toEqual(['2.0.0 3', false]);
      expect(await read(2)).toEqual(['1.1.0 2', '2.0.0 3', false]);
      expect(await read(3)).toEqual(['1.0.0 1', '1.1.0 2', '2.0.0 3', true]);
      // A change that waits is not part of a snapshot.
      await cut('c', [of('1.0.0')]);
      expect(await read(1)).toEqual(['2.0.0 3', false]);
      expect(await store().servedReleases('other', [{ group: GROUP, kind: 'A' }], 1)).toEqual([
        { served: [], isAll: true },
      ]);
    });

    it('have none of an upstream function', async () => {
      await cutUpstream(store(), 'default', [{ group: GROUP, kind: 'Theirs' }]);
      const found = await store().servedReleases('default', [{ group: GROUP, kind: 'Theirs' }], 1);
      expect(found).toEqual([{ served: [], isAll: true }]);
    });
  });
}
