import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { folderContent } from '@krmhub/functions/testing/package-folder';
import { spawnSync } from '../processes.js';
import { root } from '../running.js';

/** Changes every file of a package. */
export const EDIT = path.join(root, 'test/faults/edit-package.mjs');
/** Does what a killed process left undone. */
export const RECOVER = path.join(root, 'test/faults/recover-package.mjs');
export const FILES = 60;

const sorted = (content: Record<string, string>) =>
  JSON.stringify(Object.entries(content).sort(([one], [other]) => (one < other ? -1 : 1)));

/** A package of which all files are edited at once. */
export class EditedPackage {
  readonly #folder: string;
  readonly #before: string;
  readonly #old: string;
  #count = 0;
  /** What an edit leaves. */
  readonly written: Record<string, string>;
  readonly #written: string;
  /** After another edit of that. */
  readonly #again: string;
  /** How long an edit takes. */
  readonly milliseconds: number;

  constructor(folder: string) {
    this.#folder = folder;
    this.#before = path.join(folder, 'before');
    for (let at = 0; at < FILES; at++) {
      const file = path.join(this.#before, at % 3 === 0 ? '' : `inner/${at % 4}`, `${at}.yaml`);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(
        file,
        `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c${at}\ndata:\n  value: old\n`,
      );
    }
    this.#old = sorted(folderContent(this.#before));
    const copy = this.copy();
    const start = performance.now();
    this.edit(copy);
    this.milliseconds = performance.now() - start;
    this.written = folderContent(copy);
    this.#written = sorted(this.written);
    this.edit(copy);
    this.#again = sorted(folderContent(copy));
  }

  copy(parent = this.#folder): string {
    const copy = path.join(parent, `package-${this.#count++}`);
    cpSync(this.#before, copy, { recursive: true, preserveTimestamps: true });
    return copy;
  }

  edit(copy: string): void {
    const { stdout, stderr } = spawnSync(process.execPath, [EDIT, copy], { encoding: 'utf8' });
    if (stdout !== 'writing\nwritten\n') throw new Error(`the package cannot be edited: ${stdout}${stderr}`);
  }

  /** `again` is what two edits leave. */
  state(copy: string): 'old' | 'new' | 'again' | 'other' {
    const content = sorted(folderContent(copy));
    if (content === this.#old) return 'old';
    if (content === this.#written) return 'new';
    return content === this.#again ? 'again' : 'other';
  }
}

/** Processes that have the folder as their last argument. */
export function watchers(copy: string): string {
  return spawnSync('pgrep', ['-f', `${copy}$`], { encoding: 'utf8' }).stdout;
}

/**
 * Runs a script over a package, with faults in calls of its main thread; returns what it prints. Node.js writes to its
 * own pipes too, and waits for ever if that fails: it is killed then.
 */
export function runWithFault(script: string, copy: string, call: string, fault: string): string {
  const strace = ['strace', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:${fault}`];
  const args = ['-s', 'KILL', '60', ...strace, process.execPath, script, copy];
  return spawnSync('timeout', args, { encoding: 'utf8' }).stdout;
}

/** How often the main thread of a script makes a call. */
export function callsOf(script: string, copy: string, call: string): number {
  const output = `${copy}.trace`;
  spawnSync('strace', ['-o', output, '-e', `trace=${call}`, process.execPath, script, copy]);
  return readFileSync(output, 'utf8').split(`${call}(`).length - 1;
}
