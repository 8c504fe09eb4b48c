import type { Diagnostic } from '@krmhub/schema/diagnostic';
import type { Io } from '../../io/io.js';

/** As `lint` shows them. A registry does not know the name of the file, so that it is put in. */
export async function printRecipeDiagnostics(
  io: Io,
  diagnostics: readonly Diagnostic[],
  file: string,
  bytes: Uint8Array,
): Promise<void> {
  if (diagnostics.length === 0) return;
  const output = await import('../../io/diagnostics.js');
  const named = diagnostics.map((diagnostic) => ({ ...diagnostic, file }));
  await output.printDiagnostics(io, io.stderr, named, new Map([[file, bytes]]));
}
