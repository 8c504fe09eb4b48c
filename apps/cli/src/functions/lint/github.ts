import path from 'node:path';
import type { Diagnostic, Severity } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';
import { STDIN_NAME } from '../../io/read-stdin.js';

/** Formats findings as workflow commands, which GitHub shows as annotations of lines. */

const COMMAND = { error: 'error', warning: 'warning', info: 'notice' } as const satisfies Record<
  Severity,
  string
>;

/** Returns one workflow command. Escapes text so that it cannot start another command. */
export function annotation(diagnostic: Diagnostic, place: { cwd: string; root: string }): string {
  const { code, severity, message, file, path: field, range, hint } = diagnostic;
  const oneLine = range !== undefined && range.start.line === range.end.line;
  const properties: [string, string | number][] = [
    ...(file === STDIN_NAME ? [] : ([['file', fromRoot(file, place)]] as [string, string][])),
    ...(range === undefined
      ? []
      : ([
          ['line', range.start.line],
          ['endLine', range.end.line],
        ] as [string, number][])),
    // GitHub accepts columns only within one line.
    ...(oneLine
      ? ([
          ['col', range.start.column],
          ['endColumn', range.end.column],
        ] as [string, number][])
      : []),
    ['title', code],
  ];
  const text = `${field === '' ? '' : `${field}: `}${message}${hint === undefined ? '' : `\n${hint}`}`;
  const given = properties.map(([name, value]) => `${name}=${escapeProperty(String(value))}`).join(',');
  return `::${COMMAND[severity]} ${given}::${escapeData(text)}`;
}

/** GitHub needs paths relative to the root of the repository. */
function fromRoot(file: string, { cwd, root }: { cwd: string; root: string }): string {
  const full = path.resolve(cwd, file);
  const relative = path.relative(root, full);
  const outside = relative.startsWith('..') || path.isAbsolute(relative);
  return (outside ? full : relative).split(path.sep).join('/');
}

/** Escapes as the toolkit of GitHub does; also escapes other control characters. */
function escapeData(text: string): string {
  const lines = text
    .split(/(\r|\n)/)
    .map((part) => (part === '\r' || part === '\n' ? part : escapeControls(part)));
  return lines.join('').replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
