export interface BuilderStatus {
  /** Whether every catalog was visited once since the start. */
  caughtUp: boolean;
  /** Why no catalog can be built. */
  failure?: string;
  /** Catalogs whose build failed; it is retried. */
  failing: { catalog: string; message: string }[];
}

export interface WaitForBuild {
  event: number;
  /** Absent for SERVER_LIMITS.waitMilliseconds. */
  milliseconds?: number;
  /** Absent for all, and search. */
  catalogs?: readonly string[];
  /** Whether the catalogs are built in their turn, and not before others. */
  inTurn?: boolean;
}

/** A builder that learns of changes. */
export interface WakeableBuilder {
  /** Call it after every event that a catalog can depend on. The builder may rest before it builds. */
  wake(): void;
}

/** A builder whose snapshots can be awaited. */
export interface AwaitableBuilder {
  /**
   * Ends a rest, unless `inTurn`. Resolves with true once the named catalogs include the event, or all of them and search. Resolves with
   * false after the timeout or when the builder stops.
   */
  waitFor(input: WaitForBuild): Promise<boolean>;
}

/** A builder whose failures are reported. */
export interface ObservableBuilder {
  status(): BuilderStatus;
}

/** Builds at once. */
export interface OnDemandBuilder {
  /** Builds a catalog regardless of its earlier failures. Rejects if the build fails again or takes too long. */
  buildNow(input: { name: string }): Promise<void>;
}

/** Builds snapshots of catalogs in the background, in this thread or another one. */
export interface CatalogBuilder
  extends WakeableBuilder,
    AwaitableBuilder,
    OnDemandBuilder,
    ObservableBuilder {
  /** Resolves when no build or compression is running. None starts until `resume`. */
  pause(): Promise<void>;
  resume(): void;
  /** Resolves when the running build ends. */
  stop(): Promise<void>;
}
