import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { signalGroup } from '@krmhub/functions/process/process-group';
import { KrmhubError } from '@krmhub/schema/error';
import { hidePasswords } from '@krmhub/schema/hide-passwords';
import { escapeControls } from '@krmhub/schema/text';
import { childEnvironment } from '../../io/child-environment.js';
import { type Io, write, writeData } from '../../io/io.js';
import type { BuildFolder } from './build-folder.js';
import type { Kustomize } from './find-kustomize.js';

export interface KustomizeRun {
  kustomize: Kustomize;
  /** The folder to build, in the copy. */
  folder: string;
  args: readonly string[];
  /** Turns paths of the copy into those of the user. */
  mapPaths(text: string): string;
}

/** A line of an error may hold a whole resource. */
const MAX_LINE_CHARACTERS = 1_048_576;

/**
 * Runs kustomize in its own process group. Its output is passed on byte by byte, its messages with mapped paths.
 * Returns its exit code, or the name of the signal that ended it. An abort ends the whole group. When kustomize ends,
 * so does what it started.
 */
export async function runKustomize(
  io: Io,
  { kustomize, folder, args, mapPaths }: KustomizeRun,
  { bin, plugins, temporary, groupFile }: BuildFolder,
  { signal, onExit }: { signal: AbortSignal; onExit(): void },
): Promise<number | NodeJS.Signals> {
  signal.throwIfAborted();
  const child = spawn(kustomize.file, [...kustomize.command, folder, ...args], {
    cwd: io.cwd,
    env: {
      ...childEnvironment(io),
      PATH: [bin, io.env.PATH ?? ''].join(path.delimiter),
      // Programs in the user's plugin folder are not what the catalogs name.
      KUSTOMIZE_PLUGIN_HOME: plugins,
      TMPDIR: temporary,
    },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.on('error', (cause) => {
      reject(new KrmhubError('unavailable', `cannot start ${kustomize.file}: ${cause.message}`, { cause }));
    });
    child.on('close', (code, endedBy) => resolve(code ?? endedBy!));
  });
  const stop = () => signalGroup(child, 'SIGKILL');
  const writeGroup = async () => {
    // Synchronously: if krmhub is killed before it is written, nothing ends kustomize, which waits for a function.
    if (child.pid !== undefined) writeFileSync(groupFile, String(child.pid));
  };
  child.on('exit', () => {
    onExit();
    // Calls of functions hold its standard error open.
    stop();
  });
  const orStop = (work: Promise<void>) =>
    work.catch((error: unknown) => {
      stop();
      throw error;
    });
  signal.addEventListener('abort', stop);
  try {
    const errors = child.stderr.setEncoding('utf8');
    // All at once: Node drops what nothing reads when the process has ended.
    const all = await Promise.allSettled([
      orStop(writeGroup()),
      ended,
      orStop(forward(child.stdout, (chunk) => writeData(io.stdout, chunk))),
      orStop(forwardLines(errors, (text) => write(io.stderr, printable(mapPaths(text))))),
    ]);
    for (const one of all) if (one.status === 'rejected') throw one.reason;
    return await ended;
  } finally {
    signal.removeEventListener('abort', stop);
    await rm(groupFile, { force: true });
  }
}

async function forward(
  stream: NodeJS.ReadableStream,
  pass: (chunk: Uint8Array) => Promise<void>,
): Promise<void> {
  for await (const chunk of stream) await pass(chunk as Uint8Array);
}

/** Passes whole lines on: a path must not be cut in two. */
async function forwardLines(
  stream: NodeJS.ReadableStream,
  pass: (text: string) => Promise<void>,
): Promise<void> {
  let rest = '';
  for await (const text of stream) {
    rest += text as string;
    const end = rest.length > MAX_LINE_CHARACTERS ? rest.length : rest.lastIndexOf('\n') + 1;
    if (end > 0) await pass(rest.slice(0, end));
    rest = rest.slice(end);
  }
  if (rest !== '') await pass(rest);
}

/** Messages of functions are among those of kustomize, which quotes the URLs of bases. */
function printable(text: string): string {
  return hidePasswords(text.replace(/[^\n\t]+/g, escapeControls));
}
