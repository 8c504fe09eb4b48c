import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { command, root } from '../running.js';

export type ProgramName = 'kpt' | 'krmhub';

/** The files are those of kpt. The cases are older than kpt 1.0, and so are the images that their short names mean. */
const AS_KPT_BEFORE_1_0 = `case "$1 $2" in
'fn eval' | 'fn render')
  shown=$2
  shift 2
  set -- fn "$shown" --format kpt --image-prefix gcr.io/kpt-fn "$@" ;;
'fn sink')
  shift 2
  set -- fn sink --format kpt "$@" ;;
esac
`;
const ENGINES = ['docker', 'podman', 'nerdctl'];

/**
 * Fills a folder for the PATH: container engines that run our own functions, and `kpt`, which is the program under
 * test. `realKpt` is the path of the real one, which krmhub needs only for other commands than `kpt fn`.
 */
export async function makePrograms(
  folder: string,
  program: ProgramName,
  realKpt: string | undefined,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const functions = path.join(folder, 'functions.mjs');
  await bundle('test/kpt-e2e/functions/docker.ts', functions);
  for (const engine of ENGINES) writeScript(folder, engine, `exec '${process.execPath}' '${functions}' "$@"`);
  const krmhub = `exec '${process.execPath}' '${command}' "$@"`;
  writeScript(folder, 'krmhub', krmhub);
  const real = realKpt === undefined ? `echo 'kpt is not installed' >&2; exit 127` : `exec '${realKpt}' "$@"`;
  writeScript(
    folder,
    'kpt',
    program === 'kpt' ? real : `${AS_KPT_BEFORE_1_0}case "$1" in\nfn) ${krmhub} ;;\n*) ${real} ;;\nesac`,
  );
}

function writeScript(folder: string, name: string, text: string): void {
  const file = path.join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

/** Makes one program of a file of the project, which starts faster than the sources. */
export async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [path.join(root, entry)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['source'],
    // Modules in CommonJS of the bundle load those of Node by `require`.
    banner: {
      js: "import { createRequire as loadFrom } from 'node:module'; const require = loadFrom(import.meta.url);",
    },
    // Libraries that are loaded on first use are those of the project.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(path.join(root, 'package.json')).href) },
    logLevel: 'error',
  });
}
