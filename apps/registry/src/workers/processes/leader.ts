/** Milliseconds for which a request waits for another process to lead, beyond those of the work that it asks for. */
export const LEADER_GRACE_MS = 15_000;

/** The leader, as any process reaches it. */
export interface Leader {
  /** Whether it is this process. */
  readonly isHere: boolean;
  /** Rejects as the leader does, and with `unavailable` if no process answers in this time. */
  call(method: string, input: unknown, milliseconds: number): Promise<unknown>;
  /** What it says of its work; undefined if no process has led for 30 seconds. */
  status(): unknown;
  /** Resolves once this process knows of all events that were committed before the call. */
  catchUp(): Promise<void>;
  /** Whether this process knows of all events that were committed a minute ago. */
  isCurrent(): boolean;
}

/** The leader of a registry with one process. */
export const LEADER_HERE: Leader = {
  isHere: true,
  call: () => Promise.reject(new Error('this process is the leader')),
  status: () => undefined,
  catchUp: async () => undefined,
  isCurrent: () => true,
};
