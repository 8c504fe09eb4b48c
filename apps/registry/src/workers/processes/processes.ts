/**
 * The processes of a registry: the leader, calls to it, and the events of the other processes.
 *
 * With SQLite, there is one. With PostgreSQL, any number of them serve one database (store/postgres/processes/): one of
 * them leads, which means that it does the work that only one may do, such as building snapshots; and a process that
 * deletes bytes waits until none of them stores any.
 *
 * @module
 */

/** Work that only the leader does. */
export interface LedWork {
  /** Called when this process begins to lead. */
  start(): Promise<void> | void;
  /** Called when it does not lead any more, after `start` has ended. Work that was started earlier stops later. */
  stop(): Promise<void>;
}

/** What a pause stops: a builder in the leader. */
export interface Pausable {
  /** Resolves when no build is running. None starts until `resume`. */
  pause(): Promise<void>;
  resume(): void;
}

/**
 * Bytes are stored before the rows that name them. Callers that store both read; callers that delete unused bytes
 * write, so that they wait until no such bytes are in between, in any process. Do not take the lock again inside.
 */
export interface BytesLock {
  /** Rejects with `unavailable` while the other processes have removed this one. */
  read<Result>(work: () => Promise<Result>): Promise<Result>;
  write<Result>(work: () => Promise<Result>): Promise<Result>;
  /** As `write`, and no snapshot is built. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>;
}

export interface Processes {
  /** Names this process; undefined if there can be no other. */
  readonly id: string | undefined;
  /** Whether this process leads. */
  readonly leads: boolean;
  /** Returns how many processes there are, with this one, as it last read. */
  joined(): number;
  readonly bytesLock: BytesLock;
  /** Adds work of the leader. If this one leads, resolves or rejects as its `start`. */
  onLead(work: LedWork): Promise<void>;
  /** Sets what `bytesLock.exclusively` pauses. */
  pauses(builder: Pausable): void;
  /** Adds what this process does after it stores no bytes, before another one deletes bytes. */
  beforeDrained(work: () => Promise<void>): void;
  /** Throws `unavailable` unless the other processes certainly count on this one. Call it before bytes are deleted. */
  ensureCurrent(): void;
  /** Whether a process leads, as far as this one knows. */
  hasLeader(): boolean;
  /** Stops the work of the leader. */
  stop(): Promise<void>;
}
