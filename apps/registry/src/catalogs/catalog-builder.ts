import type { BuilderStatus } from './snapshot-builder.js';

/** Who keeps the catalogs cut; what a cutter does in which thread is its own affair. */
export interface CatalogBuilder {
  /** To be called after every event that a catalog can depend on. */
  wake(): void;
  /** Resolves with true once the catalogs have taken the event, with false after the time or on a stop. */
  waitFor(event: number, milliseconds?: number): Promise<boolean>;
  /** Cuts a catalog without regard to its earlier failures; rejects where that fails again or takes too long. */
  buildNow(name: string): Promise<void>;
  status(): BuilderStatus;
  /** Resolves when nothing is being cut or compressed; it stays so until `resume`. */
  pause(): Promise<void>;
  resume(): void;
  /** Resolves when the cut that is going on is done. */
  stop(): Promise<void>;
}
