import { readdirSync } from 'node:fs';
import path from 'node:path';
import { root } from '../running.js';

const TEST_SUPPORT = /\/testing\/|\.test\.tsx?$/;

/** Returns the TypeScript files of a package or app, tests too: paths from the root, with slashes. */
export function filesOf(workspace: string): string[] {
  return readdirSync(path.join(root, workspace, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => path.posix.join(workspace, 'src', name.split(path.sep).join('/')));
}

/** Returns the files of all packages and apps that are not tests. */
export function sourceFiles(): string[] {
  return ['apps', 'packages']
    .flatMap((top) => readdirSync(path.join(root, top)).map((name) => `${top}/${name}`))
    .flatMap(filesOf)
    .filter((file) => !TEST_SUPPORT.test(file));
}
