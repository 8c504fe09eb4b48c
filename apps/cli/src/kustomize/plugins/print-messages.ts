import type { RunResult } from '@krmhub/functions';
import { escapeControls } from '@krmhub/schema/text';
import { type Io, write } from '../../io/io.js';

/** Prints what a function says on stderr, its results, and how it failed. All of it is text of the function. */
export async function printMessages(
  io: Io,
  name: string,
  { stderr, stderrTruncated, results, exitCode }: RunResult,
  notes: readonly string[],
): Promise<void> {
  const text = new TextDecoder('utf-8').decode(stderr).trimEnd();
  const lines = text === '' ? [] : text.split('\n').map((line) => escapeControls(line.replace(/\r$/, '')));
  if (stderrTruncated) lines.push('…');
  for (const { severity = 'error', message, resourceRef, field, file } of results) {
    const { apiVersion, kind, namespace, name: object } = resourceRef ?? {};
    const about = [
      [apiVersion, kind, namespace, object].filter((part) => part !== undefined).join('/'),
      field?.path ?? '',
      file?.path === undefined ? '' : `in ${file.path}`,
    ].filter((part) => part !== '');
    const subject = about.length === 0 ? '' : `${about.join(' ')}: `;
    lines.push(escapeControls(`[${severity}] ${subject}${message}`));
  }
  if (exitCode !== 0) {
    lines.push(
      `error: ${name} failed with exit code ${exitCode}`,
      ...notes.map((note) => `  ${escapeControls(note)}`),
    );
  }
  if (lines.length > 0) await write(io.stderr, `${lines.join('\n')}\n`);
}
