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
  return fetchScript(io, { name: 'the script', runtime: pinned, offline: false });
}
