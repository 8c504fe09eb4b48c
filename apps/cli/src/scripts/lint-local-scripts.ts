import { Readable } from 'node:stream';
import { lintScript } from '@krmhub/functions/starlark/lint-script';
import { type Diagnostic, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { readLocalScripts, withoutReferences } from './local-scripts.js';

/**
 * Returns the diagnostics of a definition with those of the scripts that it names by a path, in place of those about
 * the form of these references. A script that cannot be read stays a diagnostic of the definition.
 */
export async function lintLocalScripts(
  cwd: string,
  name: string,
  bytes: Uint8Array,
  diagnostics: Diagnostic[],
): Promise<Diagnostic[]> {
  try {
    const scripts = await readLocalScripts({ cwd, stdin: Readable.from([]) }, name, bytes);
    const found = scripts.flatMap((one) => lintScript(one.bytes, one.name));
    return [...withoutReferences(diagnostics, scripts), ...found];
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    const { message, hint } = error;
    return diagnostics.map((one) =>
      one.code === 'starlark/reference' ? { ...one, message, ...defined({ hint }) } : one,
    );
  }
}
