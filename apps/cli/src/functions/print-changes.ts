import type { Change } from '@krmhub/catalog';
import { changeLines, printCounts, printRows } from '../io/change-lines.js';
import { columnsOf, type Io, paint, write } from '../io/io.js';
import { bold } from '../io/print.js';
import { visible } from '../io/text.js';

const HEADINGS = [
  ['breaking', 'Breaking', 'red'],
  ['review', 'To review', 'yellow'],
  ['compatible', 'Compatible', 'green'],
] as const;

/** Changes by their effect for a reader; for a program, a line for each with effect, rule, version, path and message. */
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
  const lines = [bold(io, visible(title))];
  const width = columnsOf(io.stdout);
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
