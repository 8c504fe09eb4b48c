import { checkCatalog } from './check-catalogs.js';
import { checkOnce, grouped, told } from './check-once.js';
import type { Recorded } from './history.js';

/**
 * Checks that a history is one that a single, never failing process could have given, except that the newest snapshot
 * may be behind in some processes. Returns the violations as text.
 *
 * Every change happens at most once and is never undone: a release is created, yanked, or taken down, a token is
 * revoked, a blob or a manifest is pushed.
 * For such a change, linearizability means that there is one moment after the first attempt began and after the call of
 * each read that missed it, and before the response of each that was acknowledged or that saw it.
 */
export function checkHistory(history: readonly Recorded[]): string[] {
  return [
    ...grouped(history, (one) => ('release' in one ? one.release : undefined)).flatMap(([release, its]) => [
      ...checkRelease(release, its),
      ...checkYank(release, its),
      ...checkTakedown(release, its),
    ]),
    ...grouped(history, (one) => ('token' in one ? one.token : undefined)).flatMap(([token, its]) =>
      checkRevocation(token, its),
    ),
    ...grouped(history, (one) => ('artifact' in one ? one.artifact : undefined)).flatMap(([artifact, its]) =>
      checkArtifact(artifact, its),
    ),
    ...grouped(history, (one) => ('catalog' in one ? one.catalog : undefined)).flatMap(([catalog]) =>
      checkCatalog(catalog, history),
    ),
  ];
}

function checkRelease(release: string, history: readonly Recorded[]): string[] {
  const publishes = history.filter((one) => one.do === 'publish');
  const reads = history.filter((one) => one.do === 'read');
  const created = publishes.filter(({ outcome }) => outcome === 'done');
  if (created.length > 1) return [`${release}: created ${created.length} times: ${told(created)}`];
  const read = [
    ...publishes.filter(({ outcome }) => outcome === 'done' || outcome === 'same'),
    ...reads.filter(({ digest }) => digest !== undefined),
  ];
  const contents = new Set(read.map(({ digest }) => digest!));
  if (contents.size > 1) return [`${release}: two contents: ${told(read)}`];
  const refused = publishes.filter(({ outcome }) => outcome === 'exists');
  // What was taken down was there.
  const seen = [...read, ...showGone(history)];
  const missed = reads.filter(({ digest, gone }) => digest === undefined && !gone);
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

/** No bytes after it, whoever is asked. */
function checkTakedown(release: string, history: readonly Recorded[]): string[] {
  const takedowns = history.filter((one) => one.do === 'takedown');
  return checkOnce(`${release}: taken down`, {
    attempts: takedowns,
    acknowledged: takedowns.filter(({ outcome }) => outcome === 'done'),
    seen: showGone(history),
    missed: history.filter(
      (one) =>
        (one.do === 'read' && one.digest !== undefined) ||
        (one.do === 'yank' && one.outcome === 'done') ||
        (one.do === 'publish' && one.outcome !== 'gone' && one.outcome !== 'unknown'),
    ),
  });
}

function showGone(history: readonly Recorded[]): Recorded[] {
  return history.filter(
    (one) => (one.do === 'read' && one.gone) || (one.do === 'publish' && one.outcome === 'gone'),
  );
}

function checkArtifact(artifact: string, history: readonly Recorded[]): string[] {
  const pushes = history.filter((one) => one.do === 'push');
  const pulls = history.filter((one) => one.do === 'pull');
  const seen = pulls.filter(({ digest }) => digest !== undefined);
  const contents = new Set([...pushes, ...seen].map(({ digest }) => digest));
  if (contents.size > 1) return [`${artifact}: two contents: ${told([...pushes, ...seen])}`];
  return checkOnce(`${artifact}: pushed`, {
    attempts: pushes,
    acknowledged: pushes.filter(({ outcome }) => outcome === 'done'),
    seen,
    missed: pulls.filter(({ digest }) => digest === undefined),
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
