import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { EXIT_CODE } from '../io/exit-code.js';
import { type Io, paint, write } from '../io/io.js';

/**
 * Does the work of a command, and prints an error as kpt does: with its own label, and with the lines as they are. What
 * kpt's users search its output for is found in that of krmhub. With `-o json` or `-o yaml`, the error
 * is also on stdout.
 */
export async function withKptErrors(
  io: Io,
  label: 'error' | 'Error',
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    await printKptError(io, label, error);
    await (await import('../io/error.js')).printErrorData(io, error);
    io.exitCode = EXIT_CODE[error.code];
  }
}

/** Prints an error in the form of kpt. */
export async function printKptError(
  io: Io,
  label: 'error' | 'Error',
  { message, hint, diagnostics }: KrmhubError,
): Promise<void> {
  const lines = message.split('\n').map(escapeControls);
  // kpt has no label here.
  if (lines[0] !== 'Kptfile is invalid:') {
    lines[0] = `${paint(io, io.stderr, ['bold', 'red'], label)}: ${lines[0]}`;
  }
  if (diagnostics.length > 0) {
    const { diagnosticLine } = await import('../io/error.js');
    lines.push(...diagnostics.map((one) => `  ${diagnosticLine(one)}`));
  }
  if (hint !== undefined) lines.push(`  hint: ${escapeControls(hint)}`);
  await write(io.stderr, `${lines.join('\n')}\n`);
}
