import { escapeControls } from '@krmhub/schema/text';
import { changeLines } from '../io/change-lines.js';
import { type Io, paint, terminalWidth, write } from '../io/io.js';
import { bold, printData, printLine, printWarning } from '../io/print.js';
import { printChanges, printPartial } from '../lock/print-lock.js';
import { markdownPreview } from './preview-markdown.js';
import type { FunctionPreview, PreviewFormat, PreviewReport } from './preview-report.js';
import {
  diffLines,
  functionFacts,
  identityNote,
  identityText,
  rejectedText,
  resultText,
  sideText,
  summary,
  unstableManifest,
  unstableText,
  warningText,
} from './preview-text.js';
import type { RenderFailure } from './render-package.js';

const MARKS = { added: '+', removed: '-', changed: '~' } as const;

export async function printPreview(io: Io, report: PreviewReport, output: PreviewFormat): Promise<void> {
  if (output === 'markdown') return write(io.stdout, markdownPreview(report));
  await printData(io, output, report, () => printText(io, report));
  await printPartial(io, report.functions);
  for (const warning of report.warnings) await printWarning(io, warningText(warning));
  await printLine(io, `${escapeControls(report.file)}: nothing was written`);
}

async function printText(io: Io, report: PreviewReport): Promise<void> {
  const { functions, rejected, imageChanges, manifests, results, notDeterministic, failures } = report;
  await print(io, [bold(io, report.title), summary(report)]);
  for (const one of rejected) {
    const hint = one.hint === undefined ? [] : [escapeControls(`hint: ${one.hint}`)];
    await print(io, ['', rejectedText(one), ...hint]);
  }
  if (!report.isChanged) return;
  await print(io, ['']);
  for (const fn of functions) {
    await printChanges(io, { changes: [fn], imageChanges: [] });
    await print(io, facts(io, fn));
  }
  await printChanges(io, { changes: [], imageChanges });
  for (const [side, failure] of Object.entries(failures)) {
    await print(io, ['', ...failureLines(side, failure)]);
  }
  for (const change of manifests.changes) {
    await print(io, [
      '',
      bold(io, `${MARKS[change.type]} ${identityText(change)}${identityNote(change, manifests.changes)}`),
    ]);
    await print(
      io,
      diffLines(change).map((line) => paintLine(io, line)),
    );
  }
  const lines = [
    ...results.appeared.map((one) => `+ ${resultText(one)}`),
    ...results.disappeared.map((one) => `- ${resultText(one)}`),
  ];
  if (lines.length > 0) await print(io, ['', bold(io, 'Results'), ...lines]);
  const unstable = [...notDeterministic.map(unstableText), ...manifests.unstable.map(unstableManifest)];
  if (unstable.length > 0) await print(io, ['', bold(io, 'Not deterministic'), ...unstable]);
}

async function print(io: Io, lines: readonly string[]): Promise<void> {
  if (lines.length > 0) await write(io.stdout, lines.map((line) => `${line}\n`).join(''));
}

/** Who signed and built a function, and what it may do, where that is known. */
function facts(io: Io, fn: FunctionPreview): string[] {
  return functionFacts(fn).flatMap(([name, value]) => {
    const label = `  ${name}: `;
    return changeLines({ label, labelWidth: label.length, message: value }, terminalWidth(io.stdout));
  });
}

function failureLines(side: string, { command, message, hint }: RenderFailure): string[] {
  const lines = [`${command} failed with the ${sideText(side)}:`, ...message.split('\n')];
  return [...lines, ...(hint === undefined ? [] : [`hint: ${hint}`])].map(escapeControls);
}

function paintLine(io: Io, line: string): string {
  const color = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : undefined;
  return color === undefined ? line : paint(io, io.stdout, color, line);
}
