import type { Recorded } from './history.js';

/**
 * Checks that a history is one that a single, never failing process could have given, except that the newest snapshot
 * may be behind in some processes. Returns the violations as text.
 *
 * Every change happens at most once and is never undone: a release is created, a release is yanked, a token is revoked.
 * For such a change, linearizability means that there is one moment after the first attempt began and after the call of
 * each read that missed it, and before the response of each that was acknowledged or that saw it.
 */
export function checkHistory(history: readonly Recorded[]): string[] {
  return [
    ...grouped(history, (one) => ('release' in one ? one.release : undefined)).flatMap(([release, its]) => [
      ...checkRelease(release, its),
      ...checkYank(release, its),
    ]),
    ...grouped(history, (one) => ('token' in one ? one.token : undefined)).flatMap(([token, its]) =>
      checkRevocation(token, its),
    ),
    ...grouped(history, (one) => (one.do === 'catalog' ? one.catalog : undefined)).flatMap(([catalog, its]) =>
      checkCatalog(catalog, its),
    ),
  ];
}

function checkRelease(release: string, history: readonly Recorded[]): string[] {
  const publishes = history.filter((one) => one.do === 'publish');
  const reads = history.filter((one) => one.do === 'read');
  const created = publishes.filter(({ outcome }) => outcome === 'done');
  if (created.length > 1) return [`${release}: created ${created.length} times: ${told(created)}`];
  const seen = [
    ...publishes.filter(({ outcome }) => outcome === 'done' || outcome === 'same'),
    ...reads.filter(({ digest }) => digest !== undefined),
  ];
  const contents = new Set(seen.map(({ digest }) => digest!));
  if (contents.size > 1) return [`${release}: two contents: ${told(seen)}`];
  const refused = publishes.filter(({ outcome }) => outcome === 'exists');
  const missed = reads.filter(({ digest }) => digest === undefined);
  const attempts = created.length > 0 ? created : publishes.filter(({ outcome }) => outcome === 'unknown');
  const [content] = contents;
  // If nobody saw the content, each unknown publish may have made it, but not one with the bytes that were refused.
  const candidates = content === undefined ? new Set(attempts.map(({ digest }) => digest)) : [content];
  const possible = [...candidates].filter((digest) => refused.every((one) => one.digest !== digest));
  if (possible.length === 0 && (seen.length > 0 || refused.length > 0)) {
    return [`${release}: refused, and no other bytes were published: ${told([...refused, ...seen])}`];
  }
  const problems = possible.map((digest) =>
    checkOnce(`${release}: published`, {
      attempts: attempts.filter((one) => one.digest === digest),
      acknowledged: created,
      seen: [...seen, ...refused],
      missed,
    }),
  );
  return problems.some((found) => found.length === 0) ? [] : (problems[0] ?? []);
}

function checkYank(release: string, history: readonly Recorded[]): string[] {
  const yanks = history.filter((one) => one.do === 'yank');
  const reads = history.filter((one) => one.do === 'read' && one.yanked !== undefined);
  return checkOnce(`${release}: yanked`, {
    attempts: yanks,
    acknowledged: yanks.filter(({ outcome }) => outcome === 'done'),
    seen: reads.filter((one) => 'yanked' in one && one.yanked),
    missed: reads.filter((one) => 'yanked' in one && !one.yanked),
  });
}

function checkRevocation(token: string, history: readonly Recorded[]): string[] {
  const revocations = history.filter((one) => one.do === 'revoke');
  const uses = history.filter((one) => one.do === 'use');
  return checkOnce(`token ${token}: revoked`, {
    attempts: revocations,
    acknowledged: revocations.filter(({ outcome }) => outcome === 'done'),
    seen: uses.filter(({ accepted }) => !accepted),
    missed: uses.filter(({ accepted }) => accepted),
  });
}

interface Change {
  /** Those that may have made it. */
  attempts: readonly Recorded[];
  acknowledged: readonly Recorded[];
  seen: readonly Recorded[];
  missed: readonly Recorded[];
}

/** Whether there is a moment at which a change that happens at most once can have happened. */
function checkOnce(what: string, { attempts, acknowledged, seen, missed }: Change): string[] {
  const [upper] = [...acknowledged, ...seen].sort((a, b) => a.returned - b.returned);
  if (upper === undefined) return [];
  const [first] = [...attempts].sort((a, b) => a.called - b.called);
  if (first === undefined) return [`${what}, and nobody did it: ${told([upper])}`];
  if (first.called > upper.returned) return [`${what} before anybody did it: ${told([upper, first])}`];
  const late = missed.filter((one) => one.called > upper.returned).sort((a, b) => a.called - b.called)[0];
  return late === undefined ? [] : [`${what}, and later it was not: ${told([upper, late])}`];
}

/** A serial has the same bytes everywhere, and a process never goes back to an older snapshot. */
function checkCatalog(catalog: string, history: readonly Recorded[]): string[] {
  const reads = history.filter((one) => one.do === 'catalog');
  const problems: string[] = [];
  for (const [serial, its] of grouped(reads, (one) => one.serial)) {
    if (new Set(its.map(({ digest }) => digest)).size > 1) {
      problems.push(`${catalog}: serial ${serial} has two contents: ${told(its)}`);
    }
  }
  for (const [, its] of grouped(reads, (one) => (one.newest ? one.process : undefined))) {
    const byCall = [...its].sort((a, b) => a.called - b.called);
    const byReturn = [...its].sort((a, b) => a.returned - b.returned);
    let newest: (typeof its)[number] | undefined;
    let at = 0;
    for (const read of byCall) {
      for (; byReturn[at] !== undefined && byReturn[at]!.returned < read.called; at++) {
        if (newest === undefined || byReturn[at]!.serial > newest.serial) newest = byReturn[at];
      }
      if (newest !== undefined && read.serial < newest.serial) {
        problems.push(`${catalog}: goes back to an older snapshot: ${told([newest, read])}`);
        break;
      }
    }
  }
  return problems;
}

function grouped<One, Key>(
  all: readonly One[],
  keyOf: (one: One) => Key | undefined,
): [Key, [One, ...One[]]][] {
  const groups = new Map<Key, [One, ...One[]]>();
  for (const one of all) {
    const key = keyOf(one);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups];
}

/** The first operations, one after the other. */
function told(operations: readonly Recorded[]): string {
  return [...operations]
    .sort((a, b) => a.called - b.called)
    .slice(0, 6)
    .map((one) => {
      const { process, called, returned, do: name, ...rest } = one;
      return `[${called}..${returned}] ${process} ${name} ${JSON.stringify(rest)}`;
    })
    .join('; ');
}
