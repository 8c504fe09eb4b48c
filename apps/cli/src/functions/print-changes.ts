import type { Change } from '@krmhub/catalog';
import { escapeControls } from '@krmhub/schema/text';
import { changeLines, printCounts, printRows } from '../io/change-lines.js';
import { type Io, paint, terminalWidth, write } from '../io/io.js';
import { bold } from '../io/print.js';

const HEADINGS = [
  ['breaking', 'Breaking', 'red'],
  ['review', 'To review', 'yellow'],
  ['compatible', 'Compatible', 'green'],
] as const;

/** Prints changes by effect; without a terminal, a line for each with effect, rule, version, path and message. */
export async function printChanges(io: Io, title: string, changes: readonly Change[]): Promise<void> {
  if (io.stdout.isTTY === true) await printGroups(io, title, changes);
  else {
    await printRows(
      io,
      changes.map(({ effect, rule, version = '', path, message }) => [effect, rule, version, path, message]),
    );
  }
  const count = (effect: Change['effect']) => changes.filter((change) => change.effect === effect).length;
  await printCounts(
    io,
    HEADINGS.map(([effect, heading]) => [count(effect), heading.toLowerCase()]),
  );
}

async function printGroups(io: Io, title: string, changes: readonly Change[]): Promise<void> {
  const lines = [bold(io, escapeControls(title))];
  const width = terminalWidth(io.stdout);
  for (const [effect, heading, color] of HEADINGS) {
    const group = changes.filter((change) => change.effect === effect);
    if (group.length === 0) continue;
    lines.push('', paint(io, io.stdout, ['bold', color], heading));
    for (const { version, message, rule } of group) {
      const text = `${version === undefined ? '' : `${version}: `}${message} (${rule})`;
      lines.push(...changeLines({ label: '  ', labelWidth: 2, message: text }, width));
    }
  }
  await write(io.stdout, `${lines.join('\n')}\n`);
}
