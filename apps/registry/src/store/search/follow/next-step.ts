import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Work } from '../../sql/statement.js';
import { type CatalogProgress, FIRST, type Progress } from './progress.js';
import { type FoldedName, foldedKey } from './record-names.js';
import { changedPage, namePage, type RecordState, type Since, type StateLimits } from './record-state.js';

/** Names of one step, which is one transaction of the index: others of the thread wait for some 20 milliseconds. */
const STEP = 100;
/** Changed functions of a catalog that a search waits for; `synchronizeSearch` reads more. */
const FEW = 50;

/** What a step needs to know of the registry. One more row than a step takes shows that there are more. */
export const STATE_LIMITS: StateLimits = { events: STEP + 1, changed: FEW + 1 };
/** Before everything is read, nothing of it is a change. */
export const NO_CHANGES: StateLimits = { events: 0, changed: 0 };

/** Names to read again, and the progress once they are written. */
export interface Step {
  names: FoldedName[];
  progress?: Progress;
  /** By name; undefined progress removes the catalog. */
  catalogs?: ReadonlyMap<string, CatalogProgress | undefined>;
  /** Searches read all names again. */
  everything?: true;
}

export interface StepInput {
  progress: Progress;
  state: RecordState;
  /** Leaves out what takes longer than a search can wait. */
  quick: boolean;
  /** Returns functions of a catalog in the index after a name. */
  indexed(catalog: string, after: FunctionName, limit: number): (FoldedName & FunctionName)[];
}

/** Returns since when changes are read. A catalog of which a page was read has no other changes until it is read. */
export function sinceOf({ event = 0, catalogs }: Progress): Since {
  const serials: Record<string, number> = {};
  for (const [name, { serial, target }] of catalogs)
    serials[name] = target === undefined ? serial : Number.MAX_SAFE_INTEGER;
  return { event, serials };
}

/**
 * Returns what to do next for the index to include the state of the registry; undefined if nothing is left, or
 * `rebuild` if the index has followed another registry or a later state of this one. It has at most one statement, and
 * names may be read later than the state: what changes meanwhile is in a later state, and is read again.
 */
export function* nextStep(input: StepInput): Work<Step | 'rebuild' | undefined> {
  const { progress, state, quick } = input;
  if (progress.event === undefined) return firstStep(progress, state);
  if (!followsRecord(progress, state)) return 'rebuild';
  // Names are read without deleted catalogs, so these are marked first: a catalog that returns is read again.
  const step = removalStep(input) ?? changesStep(progress, state) ?? wordsStep(progress, state);
  if (step !== undefined || quick) return step;
  return (yield* fillStep(progress)) ?? (yield* largeStep(progress));
}

/** Names of all catalogs are read together: what changes in a catalog meanwhile has a later serial. */
function firstStep(progress: Progress, { event, mark, serials, hasWords, takedowns }: RecordState): Step {
  const words = hasWords ? 'after' : 'before';
  return {
    names: [],
    progress: { ...progress, event, mark, fill: FIRST, words, erased: takedowns },
    catalogs: new Map([...serials].map(([name, serial]) => [name, { serial, deleted: false }])),
  };
}

/** Reports whether the registry has been in the state of the index. */
export function followsRecord({ event = 0, mark, catalogs }: Progress, state: RecordState): boolean {
  if (state.event < event) return false;
  for (const [name, { serial, target = serial }] of catalogs)
    if (target > (state.serials.get(name) ?? target)) return false;
  return state.knownMark === mark;
}

/** The next events, and the catalogs with few changes, as far as they change few names together. */
function changesStep(progress: Progress, state: RecordState): Step | undefined {
  const events = state.events.slice(0, STEP);
  const isLast = state.events.length <= STEP;
  const reached = isLast ? state : { event: events.at(-1)!.sequence, mark: events.at(-1)!.mark };
  const names = new Map<string, FoldedName>();
  for (const one of events) if (one.function !== undefined) addFolded(names, [one.function]);
  const catalogs = new Map<string, CatalogProgress>();
  let everything: true | undefined;
  for (const [name, newest] of state.serials) {
    const { serial = 0, target, deleted = false } = progress.catalogs.get(name) ?? {};
    if (serial >= newest || target !== undefined || deleted) continue;
    const changed = state.changed.get(name) ?? [];
    const isLarge = changed.length > FEW;
    if (!isLarge && names.size > 0 && names.size + changed.length > STEP) continue;
    if (!isLarge) addFolded(names, changed);
    catalogs.set(
      name,
      isLarge ? { serial, deleted: false, target: newest, after: FIRST } : { serial: newest, deleted: false },
    );
    // Names that were read before their catalog have its entries already, which searches did not count.
    if (!progress.catalogs.has(name)) everything = true;
  }
  // The index can have names that were read while the catalog was deleted.
  for (const { catalog } of events) {
    if (catalog !== undefined && progress.catalogs.has(catalog) && state.serials.has(catalog))
      catalogs.set(catalog, { serial: 0, deleted: false });
  }
  if (reached.event === progress.event && catalogs.size === 0) return undefined;
  const { event, mark } = reached;
  return {
    names: [...names.values()],
    progress: { ...progress, event, mark },
    catalogs,
    ...defined({ everything }),
  };
}

/** Older releases have their words now, so that all functions are read again. */
function wordsStep(progress: Progress, { hasWords }: RecordState): Step | undefined {
  if (progress.words !== 'before' || !hasWords || progress.fill !== undefined) return undefined;
  return { names: [], progress: { ...progress, fill: FIRST, words: 'again' } };
}

/** Reports whether nothing is left to do. */
export function isCurrent({ event, mark, fill, words, catalogs }: Progress, state: RecordState): boolean {
  if (event !== state.event || mark !== state.mark || fill !== undefined) return false;
  if (words === 'before' && state.hasWords) return false;
  if (catalogs.size !== state.serials.size) return false;
  return [...catalogs].every(
    ([name, { serial, deleted, target }]) =>
      serial === state.serials.get(name) && !deleted && target === undefined,
  );
}

/** A deleted catalog disappears from search at once, and its functions where it has few. */
function removalStep({ progress, state: { serials }, quick, indexed }: StepInput): Step | undefined {
  for (const [name, { serial, deleted, after = FIRST }] of progress.catalogs) {
    if (serials.has(name)) {
      if (!deleted) continue;
      return { names: [], catalogs: new Map([[name, { serial: 0, deleted: false }]]), everything: true };
    }
    const limit = quick ? FEW + 1 : STEP;
    const from = deleted ? after : FIRST;
    const page = indexed(name, from, limit);
    const isLast = page.length < limit;
    if (quick && !isLast && deleted) continue;
    const progressed = isLast
      ? undefined
      : { serial, deleted: true, after: quick ? from : pickName(page.at(-1)!) };
    return { names: quick && !isLast ? [] : folded(page), catalogs: new Map([[name, progressed]]) };
  }
  return undefined;
}

/** The next functions of the registry and of catalogs, for a new index. */
function* fillStep(progress: Progress): Work<Step | undefined> {
  if (progress.fill === undefined) return undefined;
  const page = yield* namePage(progress.fill, STEP);
  const { fill: _, ...filled } = progress;
  const next = page.length < STEP ? filled : { ...progress, fill: pickName(page.at(-1)!) };
  return { names: folded(page), progress: next };
}

/** The next functions of a catalog with many changes. */
function* largeStep({ catalogs }: Progress): Work<Step | undefined> {
  for (const [name, { serial, target, after = FIRST }] of catalogs) {
    if (target === undefined) continue;
    const page = yield* changedPage({ catalog: name, searched: serial, newest: target }, after, STEP);
    const progress: CatalogProgress =
      page.length < STEP
        ? { serial: target, deleted: false }
        : { serial, deleted: false, target, after: pickName(page.at(-1)!) };
    return { names: folded(page), catalogs: new Map([[name, progress]]) };
  }
  return undefined;
}

function pickName({ group, kind }: FunctionName): FunctionName {
  return { group, kind };
}

/** Returns each name once, whatever the case of its kind. */
function folded(names: readonly FunctionName[]): FoldedName[] {
  const found = new Map<string, FoldedName>();
  addFolded(found, names);
  return [...found.values()];
}

function addFolded(found: Map<string, FoldedName>, names: readonly FunctionName[]): void {
  for (const { group, kind } of names) {
    const name = { group, kindFolded: kind.toLowerCase() };
    found.set(foldedKey(name), name);
  }
}
