import { EventHighWaterMark } from '../../workers/locks/event-high-water-mark.js';

/** Events up to which catalogs are built, with callers that wait for one. A failing catalog delays no caller. */
export class BuildProgress {
  /** Every catalog, and search. */
  readonly all = new EventHighWaterMark();
  readonly #catalogs = new Map<string, EventHighWaterMark>();
  /** The event that catalogs without a mark include. */
  #others = -1;

  of(catalog: string): EventHighWaterMark {
    const known = this.#catalogs.get(catalog);
    if (known !== undefined) return known;
    const mark = new EventHighWaterMark();
    mark.event = this.#others;
    this.#catalogs.set(catalog, mark);
    return mark;
  }

  /** All catalogs include the event, except those that are behind. */
  passOver(event: number, behind: Iterable<string>): void {
    const kept = new Set(behind);
    for (const name of kept) this.of(name);
    this.#others = Math.max(this.#others, event);
    for (const [name, mark] of this.#catalogs) if (!kept.has(name)) mark.event = Math.max(mark.event, event);
  }

  /** Reports whether all catalogs, or the named ones, include the event. */
  includes(event: number, catalogs: readonly string[] | undefined): boolean {
    return this.#marks(catalogs).every((mark) => mark.event >= event);
  }

  /** Waits for all catalogs, or for the named ones. Resolves with false after the timeout. */
  async waitFor(
    event: number,
    milliseconds: number,
    catalogs: readonly string[] | undefined,
  ): Promise<boolean> {
    const marks = this.#marks(catalogs);
    const reached = await Promise.all(marks.map((mark) => mark.waitFor(event, milliseconds)));
    return reached.every((one) => one);
  }

  #marks(catalogs: readonly string[] | undefined): EventHighWaterMark[] {
    return catalogs === undefined ? [this.all] : catalogs.map((name) => this.of(name));
  }

  stopWaiting(): void {
    for (const mark of [this.all, ...this.#catalogs.values()]) mark.stopWaiting();
  }
}
