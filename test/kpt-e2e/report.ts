import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { spawnSync } from '../processes.js';
import type { Difference } from './compare.js';

const MAX_CHARACTERS = 20_000;

/** Describes a difference for a terminal: whole texts as a diff, texts that must be contained one below the other. */
export function describe({ what, expected, actual }: Difference): string {
  const text =
    what === 'results' || what === 'diff'
      ? textDiff(expected, actual)
      : `expected:\n${indent(expected)}\nactual:\n${indent(actual)}`;
  const short = text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}…`;
  return `  ${what}\n${indent(short, 4)}`;
}

/** Lines of `-` are expected, lines of `+` are there. */
function textDiff(expected: string, actual: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'kpt-e2e-diff-'));
  try {
    const files = ['expected', 'actual'].map((name) => path.join(folder, name));
    writeFileSync(files[0]!, `${expected}\n`);
    writeFileSync(files[1]!, `${actual}\n`);
    const { stdout } = spawnSync('git', ['diff', '--no-index', '--no-color', ...files], { encoding: 'utf8' });
    return stdout.split('\n').slice(4).join('\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function indent(text: string, spaces = 2): string {
  return text.trimEnd().replace(/^(?=.)/gm, ' '.repeat(spaces));
}
