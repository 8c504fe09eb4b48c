import { setImmediate } from 'node:timers/promises';
import type { CatalogRelease, CatalogReleasesRequest, ReleaseChanges } from '@krmhub/api/model';
import { changeKinds, compareCatalogs, oneVersion, planUpdate, releaseOfImage } from '@krmhub/catalog';
import type { Digest, FunctionDefinition, FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { ChangeKind } from '@krmhub/schema/documents/change-kinds';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { LRUCache } from 'lru-cache';
import { SERVER_LIMITS } from '../limits.js';
import type { Derivation, Derive } from '../workers/derive/derivation.js';

/** A release of a comparison. */
interface ComparedRelease {
  release: string;
  digest: Digest;
  size: number;
  signer?: string;
}

/** Two releases of a function, for the users of an API version. */
interface Comparison extends FunctionName {
  version: string;
  before: ComparedRelease;
  after: ComparedRelease;
}

/** A minimum age is that of the client. */
const NO_TIME = new Date(0);

type Wanted = NonNullable<CatalogReleasesRequest['functions'][number]['compare']>[number];

/** A comparison that a client asked for. */
export interface PlannedChanges {
  asked: Pick<ReleaseChanges, 'from' | 'version' | 'to'>;
  comparison: Comparison;
}

/** Plans what is compared: the used release with the newest one, that of the newest snapshot, and that in the range. */
export function planChanges(
  name: FunctionName,
  releases: readonly CatalogRelease[],
  wanted: readonly Wanted[],
): PlannedChanges[] {
  return wanted.flatMap(({ from, version, range }) => {
    const used = releases.find(({ digest }) => digest === from) ?? releaseOfImage(releases, imageOf(from));
    if (used?.versions.includes(version) !== true) return [];
    const known = { version, definition: used.digest, now: NO_TIME };
    const { wanted: served, newest } = planUpdate(known, releases);
    const inRange = range === undefined ? undefined : planUpdate({ ...known, rule: { range } }, releases);
    const targets = new Set([newest, served, inRange?.wanted].flatMap((one) => one ?? []));
    return [...targets].map((to) => ({
      asked: { from, version, to: to.release },
      comparison: { ...name, version, before: compared(used), after: compared(to) },
    }));
  });
}

function imageOf(text: string): { repository: string; tag?: string; digest?: string } {
  const reference = parseImageReference(text);
  const { tag, digest } = reference.ok ? reference : {};
  return { repository: text, ...defined({ tag, digest }) };
}

function compared({ release, digest, size, signature }: CatalogRelease): ComparedRelease {
  return { release, digest, size, ...defined({ signer: signature.signer }) };
}

/** Compares releases in the thread for derived documents, each pair once. Pairs beyond the limits are left out. */
export function releaseComparer(
  derive: Derive,
): (planned: readonly PlannedChanges[]) => Promise<Map<PlannedChanges, ChangeKind[]>> {
  const cache = new LRUCache<string, ChangeKind[]>({ max: SERVER_LIMITS.maxCachedReleases });
  return async (planned) => {
    const missing = new Map<string, Comparison>();
    let bytes = 0;
    for (const { comparison } of planned) {
      const { before, after } = comparison;
      const key = JSON.stringify(comparison);
      const size = before.size + after.size;
      if (cache.has(key) || missing.has(key) || size > SERVER_LIMITS.maxComparedEntryBytes) continue;
      bytes += size;
      if (missing.size >= SERVER_LIMITS.maxComparedInDetail || bytes > SERVER_LIMITS.maxComparedBytes) break;
      missing.set(key, comparison);
    }
    const fresh = new Map<string, ChangeKind[]>();
    if (missing.size > 0) {
      const found = await derive(RELEASE_COMPARISON, [...missing.values()]);
      for (const [at, key] of [...missing.keys()].entries()) {
        const kinds = found[at];
        if (kinds === undefined || kinds === null) continue;
        fresh.set(key, kinds);
        cache.set(key, kinds);
      }
    }
    const result = new Map<PlannedChanges, ChangeKind[]>();
    for (const one of planned) {
      const key = JSON.stringify(one.comparison);
      const kinds = fresh.get(key) ?? cache.get(key);
      if (kinds !== undefined) result.set(one, kinds);
    }
    return result;
  };
}

/** Reads two definitions for each comparison; null if one of them was taken down meanwhile. */
export const RELEASE_COMPARISON: Derivation<Comparison[], (ChangeKind[] | null)[]> = {
  name: 'release-comparison',
  async derive({ store }, comparisons) {
    const result: (ChangeKind[] | null)[] = [];
    for (const { group, kind, version, before, after } of comparisons) {
      const sides = [before, after];
      const texts = await store.definitionsJson(sides.map(({ release }) => ({ group, kind, release })));
      const [was, is] = sides.map(({ release, digest, signer }, at) => {
        const text = texts[at];
        if (text === undefined) return undefined;
        const definition = JSON.parse(Buffer.from(text).toString()) as FunctionDefinition;
        return oneVersion(definition, version, {
          definition: digest,
          release,
          ...defined({ signedBy: signer }),
        });
      });
      result.push(was === undefined || is === undefined ? null : changeKinds(compareCatalogs(was, is)));
      // Other requests run between two comparisons.
      await setImmediate();
    }
    return result;
  },
};
