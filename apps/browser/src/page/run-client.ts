import { defined } from '@krmhub/schema/defined';
import type { ScriptOutcome, ScriptRun } from '../run/run-script.js';

/** How a run in the frame ended. */
export type RunEnd = { outcome: ScriptOutcome; milliseconds: number } | { problem: string };

/** The script is of a publisher, and may loop: the interpreter's own limits come later on a slow machine. */
export const TIMEOUT_SECONDS = 10;
/** UTF-16 code units of all that a run may give back. */
const MAX_OUTPUT = 4_194_304;

/**
 * Runs scripts, each in a worker of its own, which is ended afterwards. Their frame has an opaque origin and a policy
 * without requests, so that code of a publisher that escaped from the interpreter reaches no storage, cookie, or network.
 */
export class RunFrame {
  readonly #code: string;
  readonly #frame: HTMLIFrameElement;
  readonly #isReady: Promise<void>;

  /** `code` is that of the worker. The frame loads now: later, there may be no network. */
  constructor({ path, code }: { path: string; code: string }) {
    this.#code = code;
    const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.hidden = true;
    frame.title = 'Runs functions';
    frame.src = path;
    this.#frame = frame;
    this.#isReady = new Promise((resolve) => frame.addEventListener('load', () => resolve()));
  }

  get element(): HTMLElement {
    return this.#frame;
  }

  /** Runs a script. `signal` ends it. */
  async run(run: ScriptRun, signal: AbortSignal): Promise<RunEnd> {
    await this.#isReady;
    const { port1: port, port2 } = new MessageChannel();
    const listeners = new AbortController();
    const { signal: until } = listeners;
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      return await new Promise<RunEnd>((resolve) => {
        const end = (problem: string) => resolve({ problem });
        timer = setTimeout(
          () => end(`The function did not end within ${TIMEOUT_SECONDS} seconds, and was stopped.`),
          TIMEOUT_SECONDS * 1_000,
        );
        signal.addEventListener('abort', () => end('The run was stopped.'), { signal: until });
        const onFailure = ({ source }: MessageEvent) => {
          if (source !== null && source === this.#frame.contentWindow)
            end('The function could not run: its worker ended, for example because it used too much memory.');
        };
        addEventListener('message', onFailure, { signal: until });
        port.onmessage = ({ data }: MessageEvent<unknown>) =>
          resolve(readEnd(data) ?? { problem: 'The function gave back something that is not a result.' });
        this.#send(this.#code, port2);
        port.postMessage(run);
      });
    } finally {
      clearTimeout(timer);
      listeners.abort();
      port.close();
      this.#send(null);
    }
  }

  /** Starts a worker with this code, or only ends the one before. The origin is opaque, so none can be named. */
  #send(code: string | null, ...ports: MessagePort[]): void {
    this.#frame.contentWindow?.postMessage(code, '*', ports);
  }
}

/** Reads what came from the frame, which may be anything: only text is taken, and only the fields of an outcome. */
function readEnd(data: unknown): RunEnd | undefined {
  try {
    const text = JSON.stringify(data);
    if (text.length > MAX_OUTPUT) return { problem: 'The function wrote too much.' };
    const value = JSON.parse(text) as Partial<ScriptOutcome> & { milliseconds?: unknown };
    const { resources, added, results, printed, failure, milliseconds } = value;
    if (typeof resources !== 'string' || typeof printed !== 'string' || !Array.isArray(results))
      return undefined;
    if (typeof added !== 'object' || added === null || typeof milliseconds !== 'number') return undefined;
    const outcome = {
      resources,
      printed,
      results: results.filter((result) => typeof result?.message === 'string'),
      added: Object.fromEntries(Object.entries(added).map(([path, file]) => [path, String(file)])),
      ...defined({ failure: typeof failure === 'string' ? failure : undefined }),
    };
    return { outcome, milliseconds };
  } catch {
    return undefined;
  }
}
