import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/**
 * The environment of krmhub has tokens and passwords. A child that inherits it can read them, and Node.js passes it on
 * where a call names no environment. So each file that starts a program is listed with the environment that it passes,
 * and the rest of the command line gets that of the user only from `childEnvironment`.
 */
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** What each file that starts programs passes to them. */
const STARTS: Record<string, 'childEnvironment' | 'NODE_OPTIONS' | 'SYSTEM_ENVIRONMENT' | 'an argument'> = {
  'apps/cli/src/io/open-browser.ts': 'childEnvironment',
  'apps/cli/src/io/run-helper.ts': 'childEnvironment',
  'apps/cli/src/kustomize/run/build-folder.ts': 'SYSTEM_ENVIRONMENT',
  'apps/cli/src/kustomize/run/function-calls.ts': 'SYSTEM_ENVIRONMENT',
  'apps/cli/src/kustomize/run/run-kustomize.ts': 'childEnvironment',
  'apps/registry/src/workers/isolation/bounded-process.ts': 'NODE_OPTIONS',
  // The types of their arguments require an environment.
  'packages/functions/src/process/parent-watch.ts': 'an argument',
  'packages/functions/src/process/run-program.ts': 'an argument',
  'packages/functions/src/starlark/script-process.ts': 'NODE_OPTIONS',
  // `gitEnvironment` builds it: from nothing for a registry, from `childEnvironment` for a user.
  'packages/sources/src/git/run-git.ts': 'an argument',
};
const PASSES: Record<(typeof STARTS)[string], RegExp> = {
  childEnvironment: /\bchildEnvironment\(/,
  // Limits of the memory, and nothing of the environment.
  NODE_OPTIONS: /\benv = \{ NODE_OPTIONS: .* \};/,
  SYSTEM_ENVIRONMENT: /\benv: SYSTEM_ENVIRONMENT\b/,
  'an argument': /\benv\b/,
};

const files = ['apps', 'packages'].flatMap((folder) =>
  readdirSync(path.join(root, folder)).flatMap((workspace) =>
    readdirSync(path.join(root, folder, workspace, 'src'), { recursive: true, encoding: 'utf8' })
      .map((name) => path.posix.join(folder, workspace, 'src', name.split(path.sep).join('/')))
      .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$|\/testing\//.test(file))
      .map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') })),
  ),
);

/** Reports whether a file uses what starts programs; a type of it starts none. */
function startsPrograms(text: string): boolean {
  return /import (?!type )[^;]* from 'node:(?:child_process|cluster)'|import\('node:(?:child_process|cluster)'\)/.test(
    text,
  );
}

describe('programs that krmhub starts', () => {
  it('are started only by the files of the list', () => {
    const found = files.filter(({ text }) => startsPrograms(text)).map(({ file }) => file);
    expect(found.sort()).toEqual(Object.keys(STARTS).sort());
  });

  it.each(Object.entries(STARTS))('get the environment of the list: %s', (file, environment) => {
    const { text } = files.find((one) => one.file === file)!;
    expect(text).toMatch(PASSES[environment]);
  });

  it('never get the environment of krmhub from the command line', () => {
    const passing =
      /\benv(?:ironment)?: (?:this\.#)?(?:io|process)\.env\b|\.\.\.(?:this\.#)?(?:io|process)\.env\b/;
    const found = files.filter(({ file, text }) => file.startsWith('apps/cli/') && passing.test(text));
    expect(found.map(({ file }) => file)).toEqual([]);
  });
});
