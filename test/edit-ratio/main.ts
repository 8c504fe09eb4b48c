import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readPackage } from '@krmhub/functions/fn';
import { bundle } from '../kpt-e2e/programs.js';
import { outputOf, spawnSync } from '../processes.js';
import { command } from '../running.js';

/**
 * Prints how many lines functions change in the files of folders, for each line that they have to change: `node
 * test/contracts/run-source.mjs test/edit-ratio/main.ts FOLDER…`. The lines that have to change are those between what
 * kpt writes without and with the change.
 */

const FUNCTIONS = ['no-op', 'set-labels', 'set-namespace', 'apply-setters'];
type Writer = 'kpt' | 'krmhub';

const scratch = mkdtempSync(path.join(tmpdir(), 'edit-ratio-'));
try {
  const program = path.join(scratch, 'functions.mjs');
  await bundle('test/edit-ratio/functions.ts', program);
  const files = await copyPackages(process.argv.slice(3));
  console.log(
    `${files} files\n\n| function | necessary | krmhub | ratio | kpt | ratio |\n|---|---:|---:|---:|---:|---:|`,
  );
  const unchanged = written('kpt', 'no-op');
  for (const name of FUNCTIONS) {
    const [ours, theirs] = [written('krmhub', name), written('kpt', name)];
    const necessary = changedLines(unchanged, theirs);
    const cells = [ours, theirs].flatMap((folder) => {
      const lines = changedLines(path.join(scratch, 'packages'), folder);
      return [lines, necessary === 0 ? '–' : (lines / necessary).toFixed(2)];
    });
    console.log(`| ${name} | ${[necessary, ...cells].join(' | ')} |`);
  }

  /** Copies the files of resources that functions can read. Returns their number. */
  async function copyPackages(folders: readonly string[]): Promise<number> {
    let count = 0;
    for (const [at, folder] of folders.flatMap(packages).entries()) {
      const { files: read, folder: from } = await readPackage(folder, { skipsUnreadable: true }).catch(
        () => ({
          files: new Map(),
          folder,
        }),
      );
      const place = path.join(scratch, 'packages', String(at));
      for (const name of read.keys()) {
        if (name.endsWith('Kptfile')) continue;
        mkdirSync(path.dirname(path.join(place, name)), { recursive: true });
        cpSync(path.join(from, name), path.join(place, name));
      }
      count += read.size;
    }
    return count;
  }

  /** Returns the folder of the packages after a function. */
  function written(writer: Writer, name: string): string {
    const target = path.join(scratch, `${writer}-${name}`);
    cpSync(path.join(scratch, 'packages'), target, { recursive: true });
    const args = ['fn', 'eval', target, '--exec', `${process.execPath} ${program} ${name}`];
    if (writer === 'kpt') outputOf('kpt', args);
    else outputOf(process.execPath, [command, ...args]);
    return target;
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Each folder in a folder of packages. */
function packages(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(folder, name));
}

function changedLines(before: string, after: string): number {
  const { stdout } = spawnSync('git', ['diff', '--no-index', '--numstat', before, after], {
    encoding: 'utf8',
  });
  return [...stdout.matchAll(/^(\d+)\t(\d+)\t/gm)].reduce((sum, [, a, b]) => sum + Number(a) + Number(b), 0);
}
