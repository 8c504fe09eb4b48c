import type { Diagnostic } from '@krmhub/schema/diagnostic';
import type { Io } from '../../io/io.js';

/** Prints diagnostics as `lint` does, with the name of the file, which a registry does not know. */
export async function printRecipeDiagnostics(
  io: Io,
  diagnostics: readonly Diagnostic[],
  file: string,
  bytes: Uint8Array,
): Promise<void> {
  if (diagnostics.length === 0) return;
  const output = await import('../../io/warnings.js');
  const named = diagnostics.map((diagnostic) => ({ ...diagnostic, file }));
  await output.printGrouped(io, named, new Map([[file, bytes]]));
}
