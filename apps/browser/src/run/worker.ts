/**
 * The worker that runs a script of a publisher.
 *
 * It runs in a frame with an origin of its own, whose policy allows `new Function` and no request (assets/frame.html),
 * and for one run: the page ends it afterwards, and after a timeout. The page takes from it only text that it shows as
 * what the function wrote.
 *
 * @module
 */

import { runScript, type ScriptRun } from './run-script.js';

addEventListener(
  'message',
  ({ ports: [port] }) => {
    port!.onmessage = async ({ data }: MessageEvent<ScriptRun>) => {
      const start = performance.now();
      const outcome = await runScript(data).catch((error: unknown) => ({
        resources: data.resources,
        added: {},
        results: [],
        printed: '',
        failure: `krmhub has an error: ${error instanceof Error ? error.message : String(error)}`,
      }));
      port!.postMessage({ ...outcome, milliseconds: performance.now() - start });
    };
  },
  { once: true },
);
