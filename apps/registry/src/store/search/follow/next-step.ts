import type { FunctionName } from '@krmhub/schema';
import type { Work } from '../../sql/statement.js';
import { type CatalogProgress, FIRST, type Progress } from './progress.js';
import { type FoldedName, foldedKey } from './record-names.js';
import {
  changedFunctions,
  changedPage,
  eventMark,
  eventMarks,
  functionPage,
  type RecordState,
  recordState,
  releasesAfter,
} from './record-state.js';

/** Names of one step, which is one transaction of the index: others of the thread wait for some 20 milliseconds. */
const STEP = 100;
/** Changed functions of a catalog that a search waits for; `synchronizeSearch` reads more. */
const FEW = 50;

/** Names to read again, and the progress once they are written. */
export interface Step {
  names: FoldedName[];
  progress?: Progress;
  /** Undefined progress removes the catalog. */
  catalog?: { name: string; progress: CatalogProgress | undefined };
  /** Searches read all names again. */
  everything?: true;
}

export interface StepInput {
  progress: Progress;
  /** Whether the event of the progress is known to be one of this registry. */
  isVerified: boolean;
  /** Leaves out what takes longer than a search can wait. */
  quick: boolean;
  /** Returns functions of a catalog in the index after a name. */
  indexed(catalog: string, after: FunctionName, limit: number): (FoldedName & FunctionName)[];
}

/**
 * Returns what to do next for the index to include the state of the registry; undefined if nothing is left, or
 * `rebuild` if the index has followed another registry or a later state of this one.
 */
export function* nextStep(input: StepInput): Work<Step | 'rebuild' | undefined> {
  const { progress, quick } = input;
  const state = yield* recordState();
  if (progress.event === undefined) {
    const mark = yield* eventMark(state.event);
    const words = state.hasWords ? 'after' : 'before';
    const { event, takedowns: erased } = state;
    return { names: [], progress: { ...progress, event, mark, fill: FIRST, words, erased } };
  }
  const marks = yield* readMarks(input, progress.event, state);
  if (!followsRecord(progress, progress.event, state, marks)) return 'rebuild';
  // Names are read without deleted catalogs, so these are marked first: a catalog that returns is read again.
  const step =
    removalStep(input, state) ??
    (yield* eventStep(progress, progress.event, state, marks[1])) ??
    wordsStep(progress, state) ??
    (yield* smallStep(progress, state));
  if (step !== undefined || quick) return step;
  return (yield* fillStep(progress)) ?? (yield* largeStep(progress, state));
}

/** Returns the marks of the event of the progress and of the newest one. */
function* readMarks(
  { progress, isVerified }: StepInput,
  event: number,
  state: RecordState,
): Work<[string, string]> {
  if (isVerified && state.event === event) return [progress.mark, progress.mark];
  return yield* eventMarks(event, state.event);
}

function followsRecord(
  { mark, catalogs }: Progress,
  event: number,
  state: RecordState,
  [known]: readonly [string, string],
): boolean {
  if (state.event < event) return false;
  for (const [name, { serial, target = serial }] of catalogs)
    if (target > (state.serials.get(name) ?? target)) return false;
  return known === mark;
}

function* eventStep(
  progress: Progress,
  event: number,
  state: RecordState,
  newest: string,
): Work<Step | undefined> {
  if (state.event === event) return undefined;
  const events = yield* releasesAfter(event, state.event, STEP);
  const isLast = events.length < STEP;
  const reached = isLast ? state.event : Number(events.at(-1)!.sequence);
  const mark = isLast ? newest : yield* eventMark(reached);
  return { names: folded(events), progress: { ...progress, event: reached, mark } };
}

/** Older releases have their words now, so that all functions are read again. */
function wordsStep(progress: Progress, { hasWords }: RecordState): Step | undefined {
  if (progress.words !== 'before' || !hasWords || progress.fill !== undefined) return undefined;
  return { names: [], progress: { ...progress, fill: FIRST, words: 'again' } };
}

/** Reports whether nothing is left to do. */
export function isCurrent({ progress, isVerified }: Omit<StepInput, 'indexed'>, state: RecordState): boolean {
  const { event, fill, words, catalogs } = progress;
  if (!isVerified || event !== state.event || fill !== undefined) return false;
  if (words === 'before' && state.hasWords) return false;
  if (catalogs.size !== state.serials.size) return false;
  return [...catalogs].every(
    ([name, { serial, deleted, target }]) =>
      serial === state.serials.get(name) && !deleted && target === undefined,
  );
}

/** A deleted catalog disappears from search at once, and its functions where it has few. */
function removalStep({ progress, quick, indexed }: StepInput, { serials }: RecordState): Step | undefined {
  for (const [name, { serial, deleted, after = FIRST }] of progress.catalogs) {
    if (serials.has(name)) {
      if (!deleted) continue;
      return { names: [], catalog: { name, progress: { serial: 0, deleted: false } }, everything: true };
    }
    const limit = quick ? FEW + 1 : STEP;
    const from = deleted ? after : FIRST;
    const page = indexed(name, from, limit);
    const isLast = page.length < limit;
    if (quick && !isLast && deleted) continue;
    const progressed = isLast
      ? undefined
      : { serial, deleted: true, after: quick ? from : pickName(page.at(-1)!) };
    return { names: quick && !isLast ? [] : folded(page), catalog: { name, progress: progressed } };
  }
  return undefined;
}

/** The next catalog with few changes. */
function* smallStep({ catalogs }: Progress, { serials }: RecordState): Work<Step | undefined> {
  for (const [name, newest] of serials) {
    const { serial = 0, target } = catalogs.get(name) ?? {};
    if (serial >= newest || target !== undefined) continue;
    const changed = yield* changedFunctions({ catalog: name, searched: serial, newest }, FEW + 1);
    if (changed.length > FEW) continue;
    const progress = { serial: newest, deleted: false };
    return { names: folded(changed), catalog: { name, progress }, ...whenNew(catalogs.has(name)) };
  }
  return undefined;
}

/** The next functions of the registry, for a new index. */
function* fillStep(progress: Progress): Work<Step | undefined> {
  if (progress.fill === undefined) return undefined;
  const page = yield* functionPage(progress.fill, STEP);
  const { fill: _, ...filled } = progress;
  const next = page.length < STEP ? filled : { ...progress, fill: pickName(page.at(-1)!) };
  return { names: folded(page), progress: next };
}

/** The next functions of a catalog with many changes. */
function* largeStep({ catalogs }: Progress, { serials }: RecordState): Work<Step | undefined> {
  for (const [name, newest] of serials) {
    const { serial = 0, target = newest, after = FIRST } = catalogs.get(name) ?? {};
    if (serial >= newest) continue;
    const page = yield* changedPage({ catalog: name, searched: serial, newest: target }, after, STEP);
    const progress: CatalogProgress =
      page.length < STEP
        ? { serial: target, deleted: false }
        : { serial, deleted: false, target, after: pickName(page.at(-1)!) };
    return { names: folded(page), catalog: { name, progress }, ...whenNew(catalogs.has(name)) };
  }
  return undefined;
}

/** Names that were read before their catalog have its entries already, which searches did not count. */
function whenNew(isKnown: boolean): Pick<Step, 'everything'> {
  return isKnown ? {} : { everything: true };
}

function pickName({ group, kind }: FunctionName): FunctionName {
  return { group, kind };
}

/** Returns each name once, whatever the case of its kind. */
function folded(names: readonly FunctionName[]): FoldedName[] {
  const found = new Map<string, FoldedName>();
  for (const { group, kind } of names) {
    const name = { group, kindFolded: kind.toLowerCase() };
    found.set(foldedKey(name), name);
  }
  return [...found.values()];
}
