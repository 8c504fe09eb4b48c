import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { diskError, readFileUpTo } from '@krmhub/consume/files/read-file';
import type { InlineScript } from '@krmhub/functions/plan/declared-runtime';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { readScriptReference } from '@krmhub/schema/script-reference';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import type { FetchedScript } from './fetch-script.js';
import { scriptName } from './script-name.js';

/**
 * Returns the script that a functionConfig names itself: a file relative to the folder of the kustomization, or a URL.
 * Throws `untrusted` for a file outside of that folder, and for a URL without a digest: nothing says that what it
 * serves is what the user allowed. Throws `digest-mismatch` for a script with another digest.
 */
export async function inlineScript(
  io: Io,
  runtime: InlineScript,
  folder: string,
): Promise<Omit<FetchedScript, 'file'>> {
  if (runtime.path !== undefined) {
    return { name: scriptName(runtime.path), script: await readScript(io, runtime.path, folder) };
  }
  const url = runtime.url ?? '';
  const { uri, digest } = readScriptReference(url);
  if (digest === undefined) {
    throw new KrmhubError('untrusted', escapeControls(`cannot run the script ${url}: it has no digest`), {
      hint: 'Add the digest of the script to its URL, as https://…#sha256=DIGITS.',
    });
  }
  const pinned = { type: runtime.type, reference: uri, sha256: `sha256:${digest}` } as const;
  const { fetchScript } = await import('./fetch-script.js');
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

async function readScript(io: Io, name: string, folder: string): Promise<Uint8Array> {
  const [file, root] = await Promise.all([realpath(path.resolve(folder, name)), realpath(folder)]).catch(
    (error: unknown) => {
      throw diskError(error, escapeControls(`cannot read the script ${name}`));
    },
  );
  if (isOutside(root, file)) {
    throw new KrmhubError(
      'untrusted',
      escapeControls(`the script ${name} is outside the folder of its kustomization`),
      { hint: 'Move the script to the folder of the kustomization.' },
    );
  }
  // Reading a pipe or a device may never end.
  if (!(await stat(file)).isFile()) {
    throw new KrmhubError('usage', escapeControls(`the script ${name} is not a regular file`));
  }
  const { maxScriptBytes } = DOCUMENT_LIMITS;
  const script = await readFileUpTo(io, file, maxScriptBytes);
  if (script.byteLength <= maxScriptBytes) return script;
  throw new KrmhubError(
    'too-large',
    escapeControls(`the script ${name} has more than ${maxScriptBytes} bytes`),
  );
}

function isOutside(folder: string, file: string): boolean {
  const inside = path.relative(folder, file);
  return inside === '..' || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside);
}
