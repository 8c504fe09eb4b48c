/**
 * Starts krmhub as a single executable, which needs no installation.
 *
 * The executable is Node.js with this module and the files of the program, packed. Node.js loads modules, threads, and
 * the binding of SQLite only from real files, so the first run unpacks them to the cache. Where the program starts
 * Node.js with one of its files, it starts this executable, which then runs that file.
 *
 * @module
 */

import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getAsset, getRawAsset } from 'node:sea';
import { deserialize } from 'node:v8';
import { gunzipSync } from 'node:zlib';
import { cacheFolder } from '@krmhub/consume/cache/cache-folder';
import {
  DAY_MILLISECONDS,
  isOwnFolder,
  openProgram,
  type PackedProgram,
  touchProgram,
} from './unpack-program.js';

const BUNDLE = 'apps/cli/dist/bundle';
const PROGRAM_FILE = /^(.*[/\\][0-9a-f]{64})[/\\]apps[/\\]cli[/\\]dist[/\\]bundle[/\\][\w-]+\.js$/;
/** For problems of the disk. */
const UNAVAILABLE = 5;

const uid = process.getuid?.();
const [self, , first = ''] = process.argv as [string, string, string?];
/** Docker starts its credential helper by this name, which can be a link to the executable. */
const HELPER = /^docker-credential-krmhub(?:\.exe)?$/i;

/** What runs: the command line, or a file of the program that one of its processes names. */
function choose(): { folder: string; file: string; args: readonly string[] } {
  const folder = PROGRAM_FILE.exec(first)?.[1];
  // An older version can have unpacked it, and run while this one replaced its executable.
  if (folder !== undefined && isOwnFolder(folder, uid)) {
    return { folder, file: first, args: process.argv.slice(3) };
  }
  const unpacked = openProgram(packedProgram(), cacheFolders(), uid);
  // Plugins of kustomize name no file of one version.
  const isPlugin = first !== '' && first === process.execPath;
  const helper = HELPER.test(path.basename(process.argv0)) ? ['docker-credential'] : [];
  return {
    folder: unpacked,
    file: path.join(unpacked, BUNDLE, isPlugin ? 'plugin.js' : 'krmhub.js'),
    args: [...helper, ...process.argv.slice(isPlugin ? 3 : 2)],
  };
}

function packedProgram(): PackedProgram {
  const manifest = JSON.parse(getAsset('manifest', 'utf8')) as Omit<PackedProgram, 'unpack'>;
  return {
    ...manifest,
    unpack: () =>
      deserialize(gunzipSync(Buffer.from(getRawAsset('program') as ArrayBuffer))) as Map<string, Uint8Array>,
  };
}

/** The cache; if it cannot be written, a folder for temporary files. */
function cacheFolders(): string[] {
  const { env } = process;
  return [cacheFolder({ env, cwd: process.cwd() }), path.join(tmpdir(), `krmhub-${uid ?? 'user'}`)];
}

try {
  const { folder, file, args } = choose();
  process.argv = [self, file, ...args];
  setInterval(() => touchProgram(folder), DAY_MILLISECONDS).unref();
  // The module of an executable cannot import files, and the program cannot be required: it awaits.
  const load = createRequire(file)(path.join(folder, 'load.cjs')) as (file: string) => Promise<unknown>;
  void load(file);
} catch (error) {
  process.stderr.write(
    `error: cannot unpack krmhub: ${(error as Error).message}\n` +
      '  hint: Set KRMHUB_CACHE to a folder that only you can write to.\n',
  );
  process.exitCode = UNAVAILABLE;
}
