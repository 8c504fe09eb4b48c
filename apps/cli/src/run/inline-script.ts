import path from 'node:path';
import type { InlineRuntime } from '@krmhub/catalog';
import { FUNCTION_LIMITS } from '@krmhub/functions';
import { KrmhubError } from '@krmhub/schema/error';
import { readScriptReference } from '@krmhub/schema/script-reference';
import { readFileUpTo } from '../files/read-file.js';
import type { Io } from '../io/io.js';
import { escapeControls } from '../io/text.js';
import { type FetchedScript, fetchScript, scriptName } from './fetch-script.js';

/**
 * Returns the script that a functionConfig names itself: a file relative to the folder of the kustomization, or a URL.
 * Throws `untrusted` for a URL without a digest: nothing says that what it serves is what the user allowed.
 * Throws `digest-mismatch` for a script with another digest.
 */
export async function inlineScript(
  io: Io,
  runtime: Extract<InlineRuntime, { type: 'starlark' }>,
  folder: string,
): Promise<Omit<FetchedScript, 'file'>> {
  if (runtime.path !== undefined) {
    const { maxScriptBytes } = FUNCTION_LIMITS;
    const script = await readFileUpTo(io, path.resolve(folder, runtime.path), maxScriptBytes);
    if (script.byteLength <= maxScriptBytes) return { name: scriptName(runtime.path), script };
    throw new KrmhubError('too-large', `the script ${runtime.path} has more than ${maxScriptBytes} bytes`);
  }
  const url = runtime.url ?? '';
  const { uri, digest } = readScriptReference(url);
  if (digest === undefined) {
    throw new KrmhubError('untrusted', escapeControls(`cannot run the script ${url}: it has no digest`), {
      hint: 'Add the digest of the script to its URL, as https://…#sha256=DIGITS.',
    });
  }
  const pinned = { type: 'starlark', reference: uri, sha256: `sha256:${digest}` } as const;
  try {
    return await fetchScript(io, { name: 'the script', runtime: pinned, offline: false });
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'digest-mismatch') throw error;
    const reason = error.cause instanceof KrmhubError ? `: ${error.cause.message}` : '';
    const message = `cannot run the script ${uri}: it does not match the digest in its URL${reason}`;
    throw new KrmhubError('digest-mismatch', escapeControls(message), {
      hint: 'Nothing was run. Review the script before you change the digest.',
      cause: error,
    });
  }
}
