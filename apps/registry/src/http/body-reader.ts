import type { IncomingMessage } from 'node:http';
import type { RegistryContext } from './context.js';

/** Reads the body of a request once. */
export interface BodyReader {
  /** Returns the pieces that have arrived, at least one; undefined at the end. Rejects if the body is truncated. */
  read(): Promise<readonly Uint8Array[] | undefined>;
  /** Ends the body for the reader. What arrives later is not read. */
  cancel(): void;
}

/** Bytes and pieces that may wait for the reader: then a slow disk gets them in one write. */
const MAX_WAITING_BYTES = 262_144;
const MAX_WAITING_PIECES = 256;
/** Bodies that may wait like this. Beyond this number only one piece of each waits, for the memory. */
const MAX_WAITING_BODIES = 64;

const started = new WeakSet<object>();

/** Reports whether the body of a request has a reader. */
export function isBodyRead(c: RegistryContext): boolean {
  const incoming = c.env?.incoming;
  return incoming === undefined ? (c.req.raw.body?.locked ?? true) : started.has(incoming);
}

/** Starts to read the body of a request; undefined if its method has none. */
export function openBody(c: RegistryContext): BodyReader | undefined {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return undefined;
  const incoming = c.env?.incoming;
  // Not through the streams of the framework: they cost more than everything else about a small body.
  if (incoming !== undefined) return new SocketBody(incoming);
  const { body } = c.req.raw;
  return body === null ? undefined : streamBody(body.getReader());
}

let waitingBodies = 0;

/** A body that arrives at a socket. It is paused while too many bytes wait. */
class SocketBody implements BodyReader {
  readonly #incoming: IncomingMessage;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isEnded = false;
  #isCounted = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
    started.add(incoming);
    if (incoming.readableEnded) this.#isEnded = true;
    else if (incoming.destroyed) this.#error = incoming.errored ?? closed();
    if (this.#isEnded || this.#error !== undefined) return;
    this.#isCounted = waitingBodies < MAX_WAITING_BODIES;
    if (this.#isCounted) waitingBodies += 1;
    incoming.on('data', this.#add).on('end', this.#end).on('error', this.#fail).on('close', this.#close);
  }

  async read(): Promise<readonly Uint8Array[] | undefined> {
    for (;;) {
      if (this.#pieces.length > 0) {
        const pieces = this.#pieces;
        this.#pieces = [];
        this.#bytes = 0;
        if (this.#incoming.isPaused()) this.#incoming.resume();
        return pieces;
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#isEnded) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  cancel(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#pieces = [];
    this.#detach();
    this.#incoming.pause();
    this.#wake?.();
  }

  readonly #add = (piece: Uint8Array): void => {
    this.#pieces.push(piece);
    this.#bytes += piece.byteLength;
    const isFull = this.#bytes >= MAX_WAITING_BYTES || this.#pieces.length >= MAX_WAITING_PIECES;
    if (isFull || !this.#isCounted) this.#incoming.pause();
    this.#wake?.();
  };

  readonly #end = (): void => {
    this.#isEnded = true;
    this.#detach();
    this.#wake?.();
  };

  readonly #fail = (error: Error): void => {
    this.#error = error;
    this.#wake?.();
  };

  readonly #close = (): void => {
    if (!this.#isEnded) this.#error ??= closed();
    this.#detach();
    this.#wake?.();
  };

  /** Errors are still handled: without a listener they would end the process. */
  #detach(): void {
    if (this.#isCounted) waitingBodies -= 1;
    this.#isCounted = false;
    this.#incoming.off('data', this.#add).off('end', this.#end).off('close', this.#close);
  }
}

function closed(): Error {
  return new Error('the connection is closed');
}

/** A body without a socket. */
function streamBody(reader: ReadableStreamDefaultReader<Uint8Array>): BodyReader {
  return {
    async read() {
      const { done, value } = await reader.read();
      return done ? undefined : [value];
    },
    // A broken body cannot be canceled.
    cancel: () => void reader.cancel().catch(() => undefined),
  };
}
