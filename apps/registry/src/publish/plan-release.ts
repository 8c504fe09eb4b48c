/** The first step of a publish: read what the registry has of the function, and plan the change. */

import {
  displayedRelease,
  type FunctionReader,
  type FunctionRecord,
  findPredecessor,
  type PublishPlan,
  type ReleaseRecord,
  type TokenRecord,
  type WorkflowRun,
} from '@krmhub/catalog';
import type { FunctionName, Takedown } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Caller } from '../http/auth/caller.js';
import type { PublishStateReader } from '../store/registry-store.js';
import type { Planner } from './planner.js';
import { type ReviewDeps, reviewName } from './review-name.js';
import type { Submission } from './submission.js';

export interface PlanDeps extends ReviewDeps {
  store: PublishStateReader & FunctionReader & ReviewDeps['store'];
  planner: Planner;
  clock: () => Date;
}

export interface PlanOptions extends Pick<Caller, 'by'> {
  /** The run of a workflow that the token is for. */
  run?: WorkflowRun;
  /** Returns its token as it is now, which decides whether it may publish to every new group. */
  token: () => TokenRecord;
  allowBreaking: boolean;
  /** The kind is in lower case, as in repositories. */
  kindFolded?: boolean;
}

export interface PlannedRelease {
  plan: PublishPlan;
  /** The function before the change. */
  current: FunctionRecord | undefined;
  takedowns: readonly Takedown[];
}

/**
 * Plans the publishing of a release from what the store has now. Rejects with `forbidden` if a new group requires an
 * administrator.
 */
export async function planRelease(
  deps: PlanDeps,
  { group, kind, release }: FunctionName & { release: string },
  submission: Submission,
  { by, run, token, allowBreaking, kindFolded }: PlanOptions,
): Promise<PlannedRelease> {
  const { store, planner, clock } = deps;
  const { current, kinds, takedowns } = await store.publishState(group, kind);
  const { mediaType } = submission;
  const warnings =
    current === undefined ? await reviewName(deps, { group, kind, kinds }, { token, mediaType }) : [];
  const named = releaseReader(store, current);
  const predecessor = findPredecessor(current, release);
  const plan = await planner.plan({
    ...(kindFolded === true
      ? { name: { group, kind: current?.kind ?? kind }, kindFolded: current === undefined }
      : { name: { group, kind } }),
    release,
    ...submission,
    current,
    currentRelease: await named(release),
    displayed: current && (await named(displayedRelease(current.releases).release)),
    takedowns,
    predecessor: predecessor === undefined ? undefined : await named(predecessor),
    allowBreaking,
    now: clock().toISOString(),
    by,
    ...defined({ run }),
  });
  if (plan.outcome === 'created') plan.diagnostics.push(...warnings);
  return { plan, current, takedowns };
}

/** Returns a function that reads releases, each once: the displayed one is mostly the predecessor too. */
function releaseReader(
  store: FunctionReader,
  current: FunctionRecord | undefined,
): (name: string) => Promise<ReleaseRecord | undefined> {
  const read = new Map<string, Promise<ReleaseRecord | undefined>>();
  return async (name) => {
    if (current === undefined || !current.releases.some(({ release }) => release === name)) return undefined;
    const reading = read.get(name) ?? store.release(current.group, current.kind, name);
    read.set(name, reading);
    return reading;
  };
}
