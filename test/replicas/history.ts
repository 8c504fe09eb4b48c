/** What clients asked a registry of several processes, and what they saw. */

/** The answer to a change. `unknown` is a broken connection or a 5xx: the change may be stored, now or later. */
export type ChangeOutcome =
  /** 201, or 200 of a change that is done once more. */
  | 'done'
  /** 200 of a publish: the same bytes were there. */
  | 'same'
  /** 409 of a publish: other bytes were there. */
  | 'exists'
  /** 409 of a publish: the release was taken down. */
  | 'gone'
  | 'unknown';

export type Operation =
  | { do: 'publish'; release: string; digest: string; outcome: ChangeOutcome }
  | { do: 'yank'; release: string; outcome: 'done' | 'unknown' }
  | { do: 'takedown'; release: string; outcome: 'done' | 'unknown' }
  | { do: 'revoke'; token: string; outcome: 'done' | 'unknown' }
  /** A read of a release; without a digest, it was missing, or it is gone because of a takedown. */
  | { do: 'read'; release: string; digest?: string; yanked?: boolean; gone?: true }
  /** A request with a token. */
  | { do: 'use'; token: string; accepted: boolean }
  /** A push of a blob or a manifest under a name, which is its digest or a tag that is pushed once. */
  | { do: 'push'; artifact: string; digest: string; outcome: 'done' | 'unknown' }
  /** A read of it; without a digest, it was missing. */
  | { do: 'pull'; artifact: string; digest?: string }
  | CatalogRead
  /** An upstream begins to serve a version of its catalog; versions rise. */
  | { do: 'upstream'; catalog: string; version: number }
  /** A sync that succeeded, and the version that it has stored. */
  | { do: 'sync'; catalog: string; version: number }
  /** A process that does not reach the database, or does not run, until it has read what it missed. */
  | { do: 'apart' };

/** A read of the newest snapshot of a catalog, or of one serial. Without a digest, the serial was missing. */
export interface CatalogRead {
  do: 'catalog';
  catalog: string;
  serial: number;
  newest: boolean;
  digest?: string;
  /** The releases whose bytes are in it. */
  holds?: readonly string[];
  /** Instead of the bytes: a release in it was taken down. */
  withdrawn?: true;
  /** Of the upstream whose entries it has. */
  version?: number;
}

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
  async record<Done extends Operation>(
    process: string,
    work: () => Promise<Done | undefined>,
  ): Promise<Done | undefined> {
    const called = this.#now++;
    const operation = await work();
    const returned = this.#now++;
    if (operation !== undefined) this.operations.push({ ...operation, process, called, returned });
    return operation;
  }
}
