import { KrmhubError } from '@krmhub/schema';

/** The memory that one body uses until its request ends. */
export interface BodyLease {
  /** Changes the number of bytes. Throws `unavailable` if there is not as much memory left. */
  resize(bytes: number): void;
  /** Frees the memory. */
  end(): void;
}

/**
 * Limits the memory of all request bodies together, and of one client: a client that sends slowly, or thousands of
 * bodies at once, uses up its own share and not the memory of the process.
 */
export class BodyMemory {
  readonly #total: number;
  readonly #share: number;
  readonly #clients = new Map<string, number>();
  #used = 0;

  /** In bytes; `share` is for one client. */
  constructor({ total, share }: { total: number; share: number }) {
    this.#total = total;
    this.#share = share;
  }

  /** Bytes in use. */
  get used(): number {
    return this.#used;
  }

  /** `client` is the ID of a token, or the address of a client without one. */
  lease(client: string): BodyLease {
    let held = 0;
    const resize = (bytes: number) => {
      const more = bytes - held;
      const own = (this.#clients.get(client) ?? 0) + more;
      if (more > 0) this.#refuse(own, this.#used + more);
      held = bytes;
      this.#used += more;
      if (own === 0) this.#clients.delete(client);
      else this.#clients.set(client, own);
    };
    return { resize, end: () => resize(0) };
  }

  #refuse(own: number, used: number): void {
    if (own <= this.#share && used <= this.#total) return;
    const whose = own > this.#share ? 'of this client ' : '';
    throw new KrmhubError('unavailable', `too many request bodies ${whose}arrive at the same time`, {
      hint: 'Send fewer requests at once, and try again in a moment.',
    });
  }
}
