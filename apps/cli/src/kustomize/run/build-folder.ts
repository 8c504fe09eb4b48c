import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import { SYSTEM_ENVIRONMENT } from '@krmhub/functions/process/parent-watch';

/** A private temporary folder of one build. */
export interface BuildFolder {
  /** The copy of the user's files, under their absolute paths. */
  tree: string;
  /** Programs that come first on the PATH of kustomize. */
  bin: string;
  /** The calls of functions, one folder each. */
  calls: string;
  /** Where kustomize looks for its own plugins: it has none. */
  plugins: string;
  /** Temporary files of kustomize and its children. */
  temporary: string;
  /** Holds the process group of kustomize while it runs. */
  groupFile: string;
  remove(): Promise<void>;
}

/**
 * Waits until krmhub closes its input or ends, however it ends, then ends what it started and removes its folder: a
 * shell does that faster than Node.js.
 */
const WATCH = `trap '' INT TERM HUP
cat >/dev/null
if [ -f "$1/group" ]; then kill -s KILL -- "-$(cat "$1/group")"; fi
rm -rf "$1"`;

export async function makeBuildFolder(): Promise<BuildFolder> {
  try {
    // kustomize resolves links in its own messages.
    const folder = await mkdtemp(path.join(await realpath(tmpdir()), 'krmhub-kustomize-'));
    const removeByWatch = watch(folder);
    const at = (name: string) => path.join(folder, name);
    const made = {
      tree: at('tree'),
      bin: at('bin'),
      calls: at('calls'),
      plugins: at('plugins'),
      temporary: at('tmp'),
    };
    const remove = async () => {
      await removeByWatch();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    };
    try {
      for (const one of Object.values(made)) await mkdir(one, { mode: 0o700 });
    } catch (error) {
      await remove();
      throw error;
    }
    return { ...made, groupFile: at('group'), remove };
  } catch (error) {
    throw diskError(error, `cannot create a folder in ${tmpdir()}`);
  }
}

/** Returns what lets the watcher remove the folder. */
function watch(folder: string): () => Promise<void> {
  const watcher = spawn('/bin/sh', ['-c', WATCH, 'sh', folder], {
    env: SYSTEM_ENVIRONMENT,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => {
    // Without a shell there is no cleanup after a crash.
    watcher.on('error', () => resolve());
    watcher.on('exit', () => resolve());
  });
  watcher.stdin.on('error', () => undefined);
  watcher.unref();
  if ('unref' in watcher.stdin && typeof watcher.stdin.unref === 'function') watcher.stdin.unref();
  return async () => {
    watcher.ref();
    watcher.stdin.end();
    await ended;
  };
}
