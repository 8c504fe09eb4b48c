import { type Digest, isDigest, KrmhubError, type Takedown, type Withdrawal } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { FunctionRecord, FunctionTakedown, ReleaseRecord, ReleaseSummary } from '../ports/records.js';
import { displayedRelease, searchDocument } from './displayed-release.js';
import { mergeSigners, releaseSigners } from './pinned-signers.js';
import { runtimePins, scriptPins } from './runtime-pins.js';

export interface TakedownInput {
  /** The current function; undefined if it does not exist. */
  current: FunctionRecord | undefined;
  /**
   * The release to take down, its digest, and who does it when and why. Its signers are those of the release; a record
   * of an earlier takedown can name more.
   */
  takedown: Takedown;
  /** The definition of the release, which names what it runs; undefined if the release does not exist. */
  definition?: ReleaseRecord['definition'] | undefined;
  /** Whether the registry refuses what its runtimes name by digest. */
  refusesRuntimes?: boolean | undefined;
  /** The record of the release that `displayedReleaseAfterTakedown` returns. */
  displayed: ReleaseRecord | undefined;
}

/** Returns the displayed release without these bytes; undefined if there is none. */
export function displayedReleaseAfterTakedown(
  current: FunctionRecord | undefined,
  digest: Digest,
): string | undefined {
  const left = remainingReleases(current, digest);
  return left.length === 0 ? undefined : displayedRelease(left).release;
}

/**
 * Plans a takedown. It includes every release of the function with the same bytes. A release that does not exist can
 * also be taken down: its name and digest get a tombstone, for example after restoring an older backup. Throws
 * `conflict` if the name has other bytes.
 */
export function planTakedown({
  current,
  takedown,
  definition,
  refusesRuntimes = false,
  displayed,
}: TakedownInput): FunctionTakedown {
  const name = { group: current?.group ?? takedown.group, kind: current?.kind ?? takedown.kind };
  const stored = current?.releases.find(({ release }) => release === takedown.release);
  if (stored !== undefined && stored.digest !== takedown.digest) {
    throw new KrmhubError(
      'conflict',
      `${name.group}/${name.kind}@${takedown.release} has the digest ${stored.digest}, not ${takedown.digest}`,
      { hint: `Check the digest: krmhub show ${name.group}/${name.kind}@${takedown.release}` },
    );
  }
  const left = remainingReleases(current, takedown.digest);
  const expected = displayedReleaseAfterTakedown(current, takedown.digest);
  if (displayed?.release !== expected) {
    throw new RangeError(`displayed is ${displayed?.release} where ${expected} is needed`);
  }
  const same = (current?.releases ?? []).filter(
    ({ release, digest }) => digest === takedown.digest && release !== takedown.release,
  );
  const { signers: recorded = [], runtimeDigests: recordedDigests = [], ...rest } = takedown;
  const scripts = definition === undefined ? [] : scriptPins(definition);
  const pins = definition === undefined || !refusesRuntimes ? [] : runtimePins(definition);
  const runtimeDigests = [...new Set([...recordedDigests, ...pins.filter(isDigest)])];
  const releases = [
    {
      release: takedown.release,
      signers: mergeSigners(recorded, stored === undefined ? [] : releaseSigners(stored)),
    },
    ...same.map((one) => ({ release: one.release, signers: releaseSigners(one) })),
  ];
  return {
    ...name,
    expectedRevision: current?.revision ?? 0,
    takedowns: releases.map(({ release, signers }) => ({
      ...rest,
      ...name,
      release,
      ...defined({
        signers: signers.length === 0 ? undefined : signers,
        runtimeDigests: runtimeDigests.length === 0 ? undefined : runtimeDigests,
      }),
    })),
    ...defined({
      scripts: scripts.length === 0 ? undefined : scripts,
      search: displayed === undefined ? undefined : searchDocument(name, left, displayed),
    }),
  };
}

/** Returns an error if the name or the bytes of a release were taken down; otherwise undefined. */
export function tombstoneConflict(
  takedowns: readonly Takedown[],
  submitted: { release: string; digest: Digest },
): KrmhubError | undefined {
  const named = takedowns.find(({ release }) => release === submitted.release);
  if (named !== undefined) {
    return new KrmhubError('conflict', `${describeTombstone(named)}; its name cannot be used again`, {
      hint: 'Publish the function as another release.',
      takedowns: [named],
    });
  }
  const same = takedowns.find(({ digest }) => digest === submitted.digest);
  if (same === undefined) return undefined;
  return new KrmhubError('conflict', `cannot publish these bytes: ${describeTombstone(same)}`, {
    hint: 'Remove this content, and publish again.',
    takedowns: [same],
  });
}

/** Describes a tombstone: `example.com/SetLabels@1.0.0 was taken down at … by …: reason`. */
export function describeTombstone({ group, kind, release, at, by, reason }: Withdrawal): string {
  const what = group === undefined ? 'a function that you may not read' : `${group}/${kind}@${release}`;
  return `${what} was taken down at ${at} by ${by}: ${reason}`;
}

function remainingReleases(current: FunctionRecord | undefined, digest: Digest): ReleaseSummary[] {
  return (current?.releases ?? []).filter((release) => release.digest !== digest);
}
