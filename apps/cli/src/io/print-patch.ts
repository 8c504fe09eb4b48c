import type { FileChange } from '@krmhub/functions/fn';
import { lineDiff } from '@krmhub/functions/output/line-diff';
import { hidePasswords } from '@krmhub/schema/hide-passwords';
import { type Io, writeData } from './io.js';
import { printWarning } from './print.js';

/**
 * Prints changes as a patch that `git apply` accepts, unless it has the passwords of URLs: they are hidden, because logs of
 * pipelines have patches.
 */
export async function printPatch(io: Io, changes: readonly FileChange[]): Promise<void> {
  let isHidden = false;
  for (const change of changes) {
    const before = change.type === 'create' ? '' : change.before;
    const after = change.type === 'delete' ? '' : change.after;
    const lines = [
      `--- ${change.type === 'create' ? '/dev/null' : patchName(`a/${change.path}`)}`,
      `+++ ${change.type === 'delete' ? '/dev/null' : patchName(`b/${change.path}`)}`,
      ...lineDiff(before, after),
    ];
    const shown = lines.map((line) => hidePasswords(line));
    isHidden ||= shown.some((line, at) => line !== lines[at]);
    await writeData(io.stdout, `${shown.join('\n')}\n`);
  }
  if (isHidden)
    await printWarning(
      io,
      'the patch cannot be applied, because it has … instead of the passwords of URLs; to change the files, run the command without --dry-run or --check',
    );
}

/** A path as git writes it: in quotes if it has special characters, and with a tab behind it if it has spaces. */
function patchName(name: string): string {
  if (!/["\\\x00-\x1f\x7f]/.test(name)) return name.includes(' ') ? `${name}\t` : name;
  const quoted = name.replace(/["\\\x00-\x1f\x7f]/g, (char) =>
    char === '"' || char === '\\' ? `\\${char}` : `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return `"${quoted}"`;
}
