import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { runTest, type TestIo } from './command-line.js';
import { type TestPackage, testPackage } from './package-files.js';

/** Packages for `krmhub fn`, with functions that are shell scripts. */
export interface FnPackage extends TestPackage {
  /** Runs `krmhub fn ARGS` in the folder. */
  fn(args: readonly string[], options?: { stdin?: string; env?: Record<string, string> }): Promise<TestIo>;
  read(name: string): string;
  exists(name: string): boolean;
  /** Every file with its content, by path. */
  all(folder?: string): Record<string, string>;
}

/** A shell script that a file `….sh` is. */
export const script = (text: string) => `#!/bin/sh\n${text}\n`;

export async function fnPackage(files: Record<string, string>): Promise<FnPackage> {
  const pack = await testPackage(files);
  for (const name of Object.keys(files)) {
    if (name.endsWith('.sh') || name.startsWith('bin/')) await chmod(path.join(pack.folder, name), 0o755);
  }
  const at = (name: string) => path.join(pack.folder, name);
  return {
    ...pack,
    fn: (args, { stdin = '', env = {} } = {}) =>
      runTest(['fn', ...args], {
        cwd: pack.folder,
        stdin,
        env: {
          PATH: `${at('bin')}:/usr/bin:/bin`,
          KRMHUB_CACHE: at('.cache'),
          FN_FOLDER: pack.folder,
          ...env,
        },
      }),
    read: (name) => readFileSync(at(name), 'utf8'),
    exists: (name) => existsSync(at(name)),
    all: (folder = 'app') =>
      Object.fromEntries(
        readdirSync(at(folder), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => path.relative(at(folder), path.join(entry.parentPath, entry.name)))
          .sort()
          .map((name) => [name, readFileSync(at(path.join(folder, name)), 'utf8')]),
      ),
  };
}

/**
 * An engine for tests of what krmhub asks an engine for: it writes its arguments to `engine.log`, and runs the script
 * `images/NAME.sh` of the image `…/NAME:TAG`. It says which image that is if there is `images/NAME.inspect`, and has all
 * images, or none if there is `images/none`. Real engines are in test/interop.
 */
export const ENGINE = script(`case $1 in
  version) echo 27.0 ;;
  pull) echo "$@" >> "$FN_FOLDER/engine.log"; rm -f "$FN_FOLDER/images/none" ;;
  image)
    if [ -e "$FN_FOLDER/images/none" ]; then exit 1; fi
    for image; do :; done
    name=\${image##*/}; name=\${name%%@*}; name=\${name%%:*}
    if [ -e "$FN_FOLDER/images/$name.inspect" ]; then cat "$FN_FOLDER/images/$name.inspect"; fi ;;
  run)
    echo "$@" >> "$FN_FOLDER/engine.log"
    for image; do :; done
    name=\${image##*/}; name=\${name%%@*}; name=\${name%%:*}
    exec sh "$FN_FOLDER/images/$name.sh" ;;
esac`);

export const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # the shop
spec:
  replicas: 3
`;
export const SERVICE = `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  type: ClusterIP
`;
export const KPTFILE = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n';
