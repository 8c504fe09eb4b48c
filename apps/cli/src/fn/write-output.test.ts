import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FileChange } from '@krmhub/functions/fn';
import { Random } from '@krmhub/yaml/testing/random';
import { afterEach, describe, expect, it } from 'vitest';
import { printPatch } from '../io/print-patch.js';
import { testIo } from '../testing/command-line.js';

let folder = '';
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NAMES = [
  'a.yaml',
  'my app/b c.yaml',
  'größe/日本.yaml',
  'quote"d.yaml',
  'back\\slash.yaml',
  'tab\there.yaml',
  ' x /d.yaml',
];
const LINES = [
  'a: 1',
  'b: 2',
  '',
  '-',
  '+',
  '@@ -1 +1 @@',
  '--- a/x',
  '\\ No newline',
  'c: "d"\r',
  'é',
  '\u2028',
  '\x1b[31m',
  '\t',
];

function randomText(random: Random): string {
  const lines = Array.from({ length: 1 + random.below(20) }, () => random.pick(LINES));
  const text = lines.join('\n');
  return random.chance(0.5) && text !== '' ? text : `${text}\n`;
}

/** A text with some lines added, removed, and replaced, and sometimes another end. */
function editedText(random: Random, text: string): string {
  const lines = text.split(/(?<=\n)/).flatMap((line) => {
    const chance = random.next();
    if (chance < 0.06) return [];
    if (chance < 0.12) return [`${random.pick(LINES)}\n`, line];
    return chance < 0.18 ? [`${random.pick(LINES)}\n`] : [line];
  });
  const edited = lines.join('');
  if (random.chance(0.2)) return edited.endsWith('\n') ? edited.slice(0, -1) || 'x' : `${edited}\n`;
  return edited === '' ? 'x' : edited;
}

function writeAll(files: ReadonlyMap<string, string>): void {
  for (const [name, text] of files) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

function readAll(): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return new Map(
    entries
      .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)))
      .sort()
      .map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]),
  );
}

describe('the patch of a dry run', () => {
  it.each(Array.from({ length: 150 }, (_, seed) => seed))('is applied by git, seed %i', async (seed) => {
    const random = new Random(seed);
    folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'krmhub-patch-')));
    const before = new Map<string, string>();
    const after = new Map<string, string>();
    const changes: FileChange[] = [];
    for (const name of random.some(NAMES, 0.7)) {
      const old = randomText(random);
      const change = random.pick(['create', 'delete', 'update'] as const);
      const now = change === 'create' ? old : editedText(random, old);
      if (change !== 'create') before.set(name, old);
      if (change !== 'delete') after.set(name, now);
      if (change === 'create') changes.push({ type: change, path: name, after: now });
      else if (change === 'delete') changes.push({ type: change, path: name, before: old });
      else if (now !== old) changes.push({ type: change, path: name, before: old, after: now });
    }
    writeAll(before);
    const io = testIo();
    await printPatch(io, changes);
    if (changes.length > 0)
      execFileSync('git', ['apply', '--whitespace=nowarn'], { cwd: folder, input: io.out() });
    expect(readAll()).toEqual(new Map([...after].sort(([a], [b]) => (a < b ? -1 : 1))));
  });
});
