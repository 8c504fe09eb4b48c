import type { Change } from '@krmhub/catalog';
import { columnsOf, type Io, paint, write } from '../io.js';
import { bold, say } from './print.js';
import { pipeTable } from './table.js';
import { visible, wrap } from './text.js';

const HEADINGS = [
  ['breaking', 'Breaking', 'red'],
  ['review', 'To review', 'yellow'],
  ['compatible', 'Compatible', 'green'],
] as const;

/** Changes by their effect for a reader; for a program, a line for each with effect, rule, version, path and message. */
export async function printChanges(io: Io, title: string, changes: readonly Change[]): Promise<void> {
  if (io.stdout.isTTY === true) await printGroups(io, title, changes);
  else {
    const rows = changes.map((change) => [
      change.effect,
      change.rule,
      change.version ?? '',
      change.path,
      change.message,
    ]);
    await write(
      io.stdout,
      pipeTable(rows)
        .map((line) => `${line}\n`)
        .join(''),
    );
  }
  const counts = HEADINGS.map(([effect, heading]) => {
    const count = changes.filter((change) => change.effect === effect).length;
    return `${count} ${heading.toLowerCase()}`;
  });
  await say(io, changes.length === 0 ? 'nothing differs' : counts.join(', '));
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
      const [first = '', ...more] = wrap(visible(text), width - 4);
      lines.push(`  ${first}`, ...more.map((line) => `    ${line}`));
    }
  }
  await write(io.stdout, `${lines.join('\n')}\n`);
}
