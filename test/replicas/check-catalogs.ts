import { checkOnce, firstReturned, grouped, told } from './check-once.js';
import type { CatalogRead, Recorded } from './history.js';

type Read = Recorded & CatalogRead;

/**
 * Checks the snapshots of a catalog:
 *
 * - A serial has the same bytes everywhere, stays once somebody read it, and a process never goes back to an older one.
 * - Once a takedown is acknowledged, nobody gets bytes of the release, except from a process that was apart.
 * - An upstream's versions do not go back, and a sync stores what the upstream had when it was requested.
 */
export function checkCatalog(catalog: string, history: readonly Recorded[]): string[] {
  const reads = history.filter((one): one is Read => one.do === 'catalog' && one.catalog === catalog);
  const takedowns = history.filter((one) => one.do === 'takedown');
  const apart = history.filter((one) => one.do === 'apart');
  const together = new Set(reads.filter((read) => !wasApart(read, apart)));
  return [
    ...grouped(reads, ({ serial }) => serial).flatMap(([serial, its]) =>
      checkSerial(`${catalog}: serial ${serial}`, { its, together, takedowns }),
    ),
    ...grouped(reads, (one) => (one.newest ? one.process : undefined)).flatMap(([, its]) =>
      checkOrder(`${catalog}: goes back to an older snapshot`, its),
    ),
    ...checkTakedowns(catalog, [...together], takedowns),
    ...checkVersions(catalog, reads, history),
  ];
}

function checkSerial(
  what: string,
  {
    its,
    together,
    takedowns,
  }: { its: readonly Read[]; together: ReadonlySet<Read>; takedowns: readonly Recorded[] },
): string[] {
  const stored = its.filter(({ digest }) => digest !== undefined);
  if (new Set(stored.map(({ digest }) => digest)).size > 1) {
    return [`${what} has two contents: ${told(stored)}`];
  }
  const withdrawn = its.filter((one) => one.withdrawn);
  const missing = its.filter((one) => one.digest === undefined && !one.withdrawn);
  const known = firstReturned([...stored, ...withdrawn]);
  const lost = missing.find(({ called }) => known !== undefined && called > known.returned);
  if (lost !== undefined) return [`${what} was there, and later it was not: ${told([known!, lost])}`];
  const [holds] = stored.flatMap((one) => (one.holds === undefined ? [] : [one.holds]));
  return checkOnce(`${what} withdrawn`, {
    attempts: takedowns.filter((one) => 'release' in one && (holds?.includes(one.release) ?? true)),
    acknowledged: [],
    seen: withdrawn,
    missed: stored.filter((one) => together.has(one)),
  });
}

/** Whether a process can have served what others have removed. */
function wasApart(read: Read, apart: readonly Recorded[]): boolean {
  return apart.some(
    (one) => one.process === read.process && one.called < read.returned && one.returned > read.called,
  );
}

/** Reads of one process do not go back, unless they were sent at the same time. */
function checkOrder(what: string, reads: readonly Read[]): string[] {
  const byCall = [...reads].sort((a, b) => a.called - b.called);
  const byReturn = [...reads].sort((a, b) => a.returned - b.returned);
  let newest: Read | undefined;
  let at = 0;
  for (const read of byCall) {
    for (; byReturn[at] !== undefined && byReturn[at]!.returned < read.called; at++) {
      if (newest === undefined || byReturn[at]!.serial > newest.serial) newest = byReturn[at];
    }
    if (newest !== undefined && read.serial < newest.serial) return [`${what}: ${told([newest, read])}`];
  }
  return [];
}

function checkTakedowns(catalog: string, reads: readonly Read[], takedowns: readonly Recorded[]): string[] {
  const done = takedowns.filter((one) => one.do === 'takedown' && one.outcome === 'done');
  return grouped(done, (one) => ('release' in one ? one.release : undefined)).flatMap(([release, its]) => {
    const first = firstReturned(its)!;
    const late = reads.find((one) => one.called > first.returned && one.holds?.includes(release));
    return late === undefined
      ? []
      : [`${catalog}: has ${release} after it was taken down: ${told([first, late])}`];
  });
}

function checkVersions(catalog: string, reads: readonly Read[], history: readonly Recorded[]): string[] {
  const versions = history.filter((one) => one.do === 'upstream' && one.catalog === catalog);
  const syncs = history.filter((one) => one.do === 'sync' && one.catalog === catalog);
  const versionOf = (one: Recorded) => ('version' in one ? (one.version ?? 0) : 0);
  const highest = (some: readonly Recorded[]) =>
    some.reduce((most, one) => Math.max(most, versionOf(one)), 0);
  const problems: string[] = [];
  const built = reads.filter(({ version }) => version !== undefined).sort((a, b) => a.serial - b.serial);
  const back = built.findIndex((one, at) => at > 0 && versionOf(one) < versionOf(built[at - 1]!));
  if (back > 0) {
    problems.push(
      `${catalog}: the version of the upstream goes back: ${told([built[back - 1]!, built[back]!])}`,
    );
  }
  const early = [...built, ...syncs].find(
    (one) => versionOf(one) > highest(versions.filter(({ called }) => called < one.returned)),
  );
  if (early !== undefined)
    problems.push(`${catalog}: a version that the upstream did not have: ${told([early])}`);
  const old = syncs.find(
    (one) => versionOf(one) < highest(versions.filter(({ returned }) => returned < one.called)),
  );
  if (old !== undefined)
    problems.push(`${catalog}: a sync that missed the upstream's version: ${told([old])}`);
  return problems;
}
