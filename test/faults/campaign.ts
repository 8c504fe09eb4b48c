import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { canMount, fillDisk } from './disk.js';
import { ERRORS, FaultInjector } from './fail.js';
import { Killer, type Outcome } from './kill.js';
import { allPoints, FAILING, type Point, spreadPoints } from './points.js';
import { canTrace } from './strace.js';

/** Maximum delay in milliseconds before a server is killed, where strace is missing. */
const MAX_DELAY_MILLISECONDS = 400;

export interface Campaign {
  /**
   * Minimum number of faults to inject: a point that a round does not reach does not count, and others are
   * tried.
   */
  count: number;
  /** Folder for all data; it is left as it is if something was lost. */
  scratch: string;
  /** Servers under test in parallel. */
  workers: number;
  report(outcome: Outcome): void;
}

/**
 * A quarter of the faults are kills, some of them while a server starts on an empty folder; the others are
 * errors.
 */
export async function injectFaults({ count, scratch, workers, report }: Campaign): Promise<void> {
  mkdirSync(scratch, { recursive: true });
  const tasks = canTrace() ? await tracedTasks(scratch, count) : timedTasks(count);
  const planned = interleaved(tasks);
  let injected = 0;
  const queue = [...planned, ...planned];
  const next = () => (queue.length > planned.length || injected < count ? queue.shift() : undefined);
  const results = await Promise.allSettled(
    Array.from({ length: workers }, async (_, worker) => {
      const killer = new Killer(path.join(scratch, `kill-${worker}`));
      const saboteur = new FaultInjector(path.join(scratch, `fail-${worker}`));
      for (let task = next(); task !== undefined; task = next()) {
        const outcome = await task({ killer, saboteur });
        injected += outcome.injected;
        report(outcome);
      }
      report({ fault: 'kill of a server whose disk had failed', injected: 1, losses: await saboteur.end() });
    }),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  if (!canMount(scratch)) return;
  // Every size at which a publish or a build can find the disk full, in steps of a page.
  const sizes = Array.from({ length: Math.max(3, Math.round(count / 30)) }, (_, at) => at * 4_096);
  for (const outcome of await fillDisk(scratch, sizes)) report(outcome);
}

type Task = (tools: { killer: Killer; saboteur: FaultInjector }) => Promise<Outcome>;

async function tracedTasks(scratch: string, count: number): Promise<Task[]> {
  const points = await allPoints(path.join(scratch, 'points'));
  const starting = points.filter(({ phase }) => phase === 'start');
  const working = points.filter(({ phase }) => phase !== 'start');
  const failing = working.filter(({ phase, call }) => phase !== 'start' && FAILING[phase].includes(call));
  const kill =
    (point: Point): Task =>
    ({ killer }) =>
      killer.kill(point);
  return [
    ...spreadPoints(starting, count / 20).map(kill),
    ...spreadPoints(working, count / 5).map(kill),
    ...ERRORS.flatMap((error) => [
      ...spreadPoints(failing, count / 10).map(
        (point): Task =>
          ({ saboteur }) =>
            saboteur.fail(point, error),
      ),
      // About five errors in a round, and so fewer rounds.
      ...spreadPoints(failing, count / 18).map(
        (point): Task =>
          ({ saboteur }) =>
            saboteur.fail(point, error, Math.ceil(placesLike(point, failing) / 6)),
      ),
    ]),
  ];
}

function placesLike({ phase, call }: Point, points: readonly Point[]): number {
  return points.filter((one) => one.phase === phase && one.call === call).length;
}

function timedTasks(count: number): Task[] {
  return Array.from(
    { length: count },
    (_, at) =>
      ({ killer }) =>
        killer.killAfter((at * MAX_DELAY_MILLISECONDS) / count),
  );
}

/** So that every worker has kills and errors, and a run that ends early has both. */
function interleaved(tasks: readonly Task[]): Task[] {
  const step = 7;
  return Array.from({ length: step }, (_, first) => tasks.filter((__, at) => at % step === first)).flat();
}
