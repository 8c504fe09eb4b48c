import { defined } from '@krmhub/schema/defined';
import type { ScriptOutcome, ScriptRun } from '../run/run-script.js';

/** How a run in the frame ended. */
export type RunEnd = { outcome: ScriptOutcome; milliseconds: number } | { problem: string };

/** The script is of a publisher, and may loop: the interpreter's own limits come later on a slow machine. */
export const TIMEOUT_SECONDS = 10;
/** UTF-16 code units of all that a run may give back. */
const MAX_OUTPUT = 4_194_304;

/**
 * Runs a script in a worker of a new frame, and removes both. The frame has an opaque origin and a policy without
 * requests, so that code of a publisher that escaped from the interpreter reaches no storage, cookie, or network, and
 * nothing of it is left for the next run. `signal` ends it.
 */
export async function runInFrame(
  { framePath, code }: { framePath: string; code: string },
  run: ScriptRun,
  signal: AbortSignal,
): Promise<RunEnd> {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.setAttribute('aria-hidden', 'true');
  frame.tabIndex = -1;
  frame.hidden = true;
  frame.src = framePath;
  const { port1: port, port2 } = new MessageChannel();
  const removers: (() => void)[] = [() => frame.remove(), () => port.close()];
  try {
    return await new Promise<RunEnd>((resolve) => {
      const end = (problem: string) => resolve({ problem });
      const timer = setTimeout(
        () => end(`The function did not end within ${TIMEOUT_SECONDS} seconds, and was stopped.`),
        TIMEOUT_SECONDS * 1_000,
      );
      const onStop = () => end('The run was stopped.');
      const onFrameMessage = ({ source }: MessageEvent) => {
        if (source !== null && source === frame.contentWindow)
          end('The function could not run: its worker ended, for example because it used too much memory.');
      };
      signal.addEventListener('abort', onStop);
      addEventListener('message', onFrameMessage);
      removers.push(
        () => clearTimeout(timer),
        () => signal.removeEventListener('abort', onStop),
        () => removeEventListener('message', onFrameMessage),
      );
      port.onmessage = ({ data }: MessageEvent<unknown>) =>
        resolve(readEnd(data) ?? { problem: 'The function gave back something that is not a result.' });
      frame.addEventListener('load', () => {
        // The origin of the frame is opaque, so none can be named.
        frame.contentWindow?.postMessage(code, '*', [port2]);
        port.postMessage(run);
      });
      frame.addEventListener('error', () => end('The frame that runs functions cannot be loaded.'));
      document.body.append(frame);
    });
  } finally {
    for (const remove of removers) remove();
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
