import { setImmediate } from 'node:timers/promises';
import { KrmhubError } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';
import { asActor, currentActor } from './auth/request-actor.js';
import { CACHE_REVALIDATE } from './bytes-response.js';
import type { RegistryContext } from './context.js';
import { readerChecks } from './reader-checks.js';

/**
 * Responses of lines that are generated while the client reads: nothing is read ahead, and the number of concurrent
 * ones is limited.
 */
export class LineStreams {
  #running = 0;

  /** `text` yields lines, in pieces of any size. */
  respond(c: RegistryContext, text: () => AsyncIterable<string>, cacheControl = CACHE_REVALIDATE): Response {
    const headers = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': cacheControl };
    if (c.req.method === 'HEAD') return new Response(null, { headers });
    if (this.#running >= SERVER_LIMITS.maxExports) {
      throw new KrmhubError('unavailable', 'too many exports are running', {
        hint: 'Try again in a minute.',
      });
    }
    this.#running += 1;
    const ended = () => {
      this.#running -= 1;
    };
    c.set('isStream', true);
    return new Response(createStream(inPieces(text()), { ended, recheck: readerChecks(c) }), { headers });
  }
}

/** Generates a piece when the client needs it. Calls `ended` once, also if the client disconnects. */
function createStream(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  { ended, recheck }: { ended: () => void; recheck: ReturnType<typeof readerChecks> },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isOpen = true;
  // The server asks for the pieces after the handler has returned.
  let actor = currentActor();
  const end = () => {
    if (isOpen) ended();
    isOpen = false;
  };
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          actor = (await recheck())?.actor ?? actor;
          const { done, value } = await asActor(actor, () => pieces.next());
          if (done !== true) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      async cancel() {
        end();
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* inPieces(
  texts: AsyncIterable<string>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined, undefined> {
  const encoder = new TextEncoder();
  let pending = '';
  let turn = performance.now();
  for await (const text of texts) {
    pending += text;
    if (performance.now() - turn >= SERVER_LIMITS.exportSliceMilliseconds) {
      await setImmediate();
      turn = performance.now();
    }
    if (pending.length < SERVER_LIMITS.exportPieceBytes) continue;
    yield encoder.encode(pending);
    pending = '';
  }
  if (pending !== '') yield encoder.encode(pending);
  return undefined;
}
