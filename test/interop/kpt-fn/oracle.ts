import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { folderContent } from '@krmhub/functions/testing/package-folder';
import { normalizeTimes } from '../../kpt-e2e/compare.js';
import { bundle } from '../../kpt-e2e/programs.js';
import { spawnSync } from '../../processes.js';
import { cleanEnvironment, command } from '../../running.js';

export type Program = 'kpt' | 'krmhub';

export interface Outcome {
  failed: boolean;
  stdout: string;
  /** Without times, and with PACKAGE for the folder. */
  stderr: string;
  /** By path, the package as it is afterwards. */
  files: Record<string, string>;
  results: string;
}

/** Bundles the functions of generated packages; returns the command line that starts one. */
export async function makeFunctions(folder: string): Promise<(name: string) => string> {
  const outfile = path.join(folder, 'exec.mjs');
  await bundle('test/interop/kpt-fn/exec.ts', outfile);
  return (name) => `${process.execPath} ${outfile} ${name}`;
}

/** Runs `fn …` of a program over a copy of a package, in a folder of its own. `PACKAGE` and `RESULTS` become paths. */
export function runOver(
  program: Program,
  folder: string,
  files: Readonly<Record<string, string>>,
  args: readonly string[],
  stdin = '',
): Outcome {
  const place = path.join(folder, program);
  rmSync(place, { recursive: true, force: true });
  const target = path.join(place, 'package');
  const results = path.join(place, 'results');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(target, name)), { recursive: true });
    writeFileSync(path.join(target, name), text);
  }
  mkdirSync(path.join(place, 'home'), { recursive: true });
  const named = (one: string) => one.replace('PACKAGE', target).replace('RESULTS', results);
  // In krmhub, this option is only for executables of catalogs.
  const allow = program === 'kpt' ? '--allow-exec' : '--allow-package-exec';
  const filled = args.map((one) => (one === '--allow-exec' ? allow : named(one)));
  // `fn source` has no files to write.
  if (program === 'krmhub' && args[1] !== 'source') filled.splice(2, 0, '--format', 'kpt');
  const [file, ...rest] = program === 'kpt' ? ['kpt', ...filled] : [process.execPath, command, ...filled];
  const { status, stdout, stderr } = spawnSync(file!, rest, {
    cwd: place,
    env: cleanEnvironment(path.join(place, 'home')),
    input: stdin,
    encoding: 'utf8',
    maxBuffer: 64 * 1_024 * 1_024,
  });
  const resultsFile = path.join(results, 'results.yaml');
  return {
    failed: status !== 0,
    stdout,
    stderr: normalizeTimes(stderr.replaceAll(place, 'PLACE')),
    files: existsSync(target) ? folderContent(target) : {},
    results: existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8') : '',
  };
}
