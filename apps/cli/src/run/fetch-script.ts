import type { PinnedStarlark } from '@krmhub/catalog';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { fetchExecutable } from './fetch-executable.js';
import { hostPlatform } from './platform.js';
import { scriptName } from './script-name.js';

export interface ScriptRequest {
  /** `APIVERSION KIND`, for messages. */
  name: string;
  runtime: PinnedStarlark;
  /** Reference of the catalog: relative files are relative to its folder. */
  catalog?: string | undefined;
  /** Use the cache only. */
  offline: boolean;
}

/** A script that was verified, in memory: nothing can change it before it runs. */
export interface FetchedScript {
  /** For positions in messages. */
  name: string;
  script: Uint8Array;
  /** Its file in the cache. */
  file: string;
}

/** Returns a script from the cache, or fetches it. Throws as `fetchExecutable` does. */
export async function fetchScript(
  io: Io,
  { name, runtime: { type, reference, sha256: digest }, catalog, offline }: ScriptRequest,
): Promise<FetchedScript> {
  const [os, arch] = hostPlatform().split('/') as ['linux', 'amd64'];
  const fetched = await fetchExecutable(io, {
    name,
    platform: { os, arch, bin: scriptName(reference), uri: reference, sha256: digest },
    catalog,
    offline,
    artifact: type,
    maxBytes: DOCUMENT_LIMITS.maxScriptBytes,
  });
  const { maxScriptBytes } = DOCUMENT_LIMITS;
  const script = await readFileUpTo(io, fetched.file, maxScriptBytes);
  // The cache may have it as an executable, which can be larger.
  if (script.byteLength > maxScriptBytes) {
    throw new KrmhubError(
      'too-large',
      escapeControls(`cannot run ${name}: the script has more than ${maxScriptBytes} bytes`),
    );
  }
  if (sha256(script) !== fetched.sha256) {
    throw new KrmhubError(
      'digest-mismatch',
      escapeControls(`cannot run ${name}: ${fetched.file} was changed while it was read`),
    );
  }
  return { name: scriptName(reference), script, file: fetched.file };
}
