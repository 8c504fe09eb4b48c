/** What clients asked a registry of several processes, and what they saw. */

/** The answer to a change. `unknown` is a broken connection or a 5xx: the change may be stored, now or later. */
export type ChangeOutcome =
  /** 201, or 200 of a change that is done once more. */
  | 'done'
  /** 200 of a publish: the same bytes were there. */
  | 'same'
  /** 409 of a publish: other bytes were there. */
  | 'exists'
  | 'unknown';

export type Operation =
  | { do: 'publish'; release: string; digest: string; outcome: ChangeOutcome }
  | { do: 'yank'; release: string; outcome: 'done' | 'unknown' }
  | { do: 'revoke'; token: string; outcome: 'done' | 'unknown' }
  /** A read of a release; without a digest, it was missing. */
  | { do: 'read'; release: string; digest?: string; yanked?: boolean }
  /** A request with a token. */
  | { do: 'use'; token: string; accepted: boolean }
  /** A read of the newest snapshot of a catalog, or of one serial. */
  | { do: 'catalog'; catalog: string; serial: number; digest: string; newest: boolean };

export type Recorded = Operation & {
  /** Which process of the registry answered. */
  process: string;
  /** Positions in the order of all calls and responses. */
  called: number;
  returned: number;
};

/** Records operations of clients in one process, so that a counter orders their calls and responses. */
export class History {
  readonly operations: Recorded[] = [];
  #now = 0;

  /** `work` returns undefined if the response says nothing, such as a read with 503. */
  async record(process: string, work: () => Promise<Operation | undefined>): Promise<Operation | undefined> {
    const called = this.#now++;
    const operation = await work();
    const returned = this.#now++;
    if (operation !== undefined) this.operations.push({ ...operation, process, called, returned });
    return operation;
  }
}
