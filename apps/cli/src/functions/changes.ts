import type { Change } from '@krmhub/catalog';
import { columnsOf, type Io, paint, write } from '../io/io.js';
import { bold, say } from '../io/print.js';
import { pipeTable } from '../io/table.js';
import { visible, wrap } from '../io/text.js';

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
  await sayCounts(
    io,
    HEADINGS.map(([effect, heading]) => [count(effect), heading.toLowerCase()]),
  );
}

/** For a program: a line for each change. */
export async function printRows(io: Io, rows: readonly (readonly string[])[]): Promise<void> {
  const lines = pipeTable(rows).map((line) => `${line}\n`);
  await write(io.stdout, lines.join(''));
}

/** How many changes there are of each weight, on stderr; `where` is what they are in. */
export async function sayCounts(
  io: Io,
  counts: readonly (readonly [count: number, label: string])[],
  where = '',
): Promise<void> {
  const nothing = counts.every(([count]) => count === 0);
  await say(
    io,
    nothing ? 'nothing differs' : counts.map(([count, label]) => `${count} ${label}`).join(', ') + where,
  );
}

/** A change in as many lines as it takes; `label` stands before the first and may be painted. */
export function changeLines(
  { label, labelWidth, message }: { label: string; labelWidth: number; message: string },
  width: number,
): string[] {
  const indent = ' '.repeat(labelWidth);
  const [first = '', ...more] = wrap(visible(message), width - labelWidth - 2);
  return [`${label}${first}`, ...more.map((line) => `${indent}  ${line}`)];
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
