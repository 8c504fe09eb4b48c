import { type Diagnostic, KrmhubError } from '@krmhub/schema';
import { type Io, paint, write } from './io.js';
import { visible } from './text.js';

/** What went wrong, where it was the registry that said so, and the way out; on stderr. */
export async function printError(io: Io, error: unknown): Promise<void> {
  const label = paint(io, io.stderr, ['bold', 'red'], 'error');
  if (!(error instanceof KrmhubError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    await write(io.stderr, `${label}: this is a fault of krmhub itself\n${text}\n`);
    return;
  }
  const [first, ...more] = error.message.split('\n').map(visible);
  // Indented, so that no message can pass for a line of ours.
  const lines = [`${label}: ${first}`, ...more.map((line) => `  ${line.trim()}`)];
  if (error.hint !== undefined) lines.push(`  hint: ${visible(error.hint)}`);
  for (const diagnostic of error.diagnostics) lines.push(`  ${diagnosticLine(diagnostic)}`);
  await write(io.stderr, `${lines.join('\n')}\n`);
}

/** A diagnostic in one line, for places where its document is not at hand. */
export function diagnosticLine({ code, severity, message, file, path, range, hint }: Diagnostic): string {
  const place = range === undefined ? file : `${file}:${range.start.line}:${range.start.column}`;
  const field = path === '' ? '' : ` ${path}:`;
  return visible(
    `${severity}[${code}] ${place}:${field} ${message}${hint === undefined ? '' : ` (${hint})`}`,
  );
}
