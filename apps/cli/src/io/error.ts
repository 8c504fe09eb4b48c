import type { Diagnostic } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { hidePasswords } from '@krmhub/schema/hide-passwords';
import { escapeControls } from '@krmhub/schema/text';
import { type Io, paint, write } from './io.js';
import { printData } from './print.js';

/** Prints an error with its hint and diagnostics on stderr. */
export async function printError(io: Io, error: unknown): Promise<void> {
  const label = paint(io, io.stderr, ['bold', 'red'], 'error');
  if (!(error instanceof KrmhubError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    await write(io.stderr, `${label}: internal error in krmhub; please report it\n${text}\n`);
    return;
  }
  const [first, ...more] = error.message.split('\n').map(escapeControls);
  // Indented, so that text from a registry cannot look like a line of krmhub.
  const lines = [`${label}: ${first}`, ...more.map((line) => `  ${line.trim()}`)];
  if (error.hint !== undefined) lines.push(`  hint: ${escapeControls(error.hint)}`);
  for (const diagnostic of error.diagnostics) lines.push(`  ${diagnosticLine(diagnostic)}`);
  await write(io.stderr, `${lines.join('\n')}\n`);
}

/**
 * Prints an error as `{"error": {"code", "message", "hint", "diagnostics"}}` on stdout, for a program that asked for
 * JSON or YAML.
 */
export async function printErrorData(io: Io, error: unknown): Promise<void> {
  if (io.errorFormat === undefined || io.stdout.hasOutput === true) return;
  const { code, message, hint, diagnostics } =
    error instanceof KrmhubError
      ? error
      : {
          code: 'internal',
          message: 'internal error in krmhub; please report it',
          hint: undefined,
          diagnostics: [],
        };
  const data = { error: { code, message, hint, diagnostics } };
  await printData(io, io.errorFormat, data, async () => undefined);
}

/** Formats a diagnostic in one line, for use without its document. */
export function diagnosticLine({ code, severity, message, file, path, range, hint }: Diagnostic): string {
  const position = range === undefined ? file : `${file}:${range.start.line}:${range.start.column}`;
  const field = path === '' ? '' : ` ${path}:`;
  return escapeControls(
    `${severity}[${code}] ${hidePasswords(position)}:${field} ${message}${hint === undefined ? '' : ` (${hint})`}`,
  );
}
