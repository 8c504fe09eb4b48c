import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Layer } from '../../function-configs/layers.js';
import type { Io } from '../../io/io.js';
import type { BuildFolder } from './build-folder.js';
import type { Kustomize } from './find-kustomize.js';
import { FunctionCalls } from './function-calls.js';
import type { KustomizeArguments } from './kustomize-arguments.js';
import { PlannedCalls } from './planned-calls.js';
import type { PlannedFunction } from './planned-function.js';
import { runKustomize } from './run-kustomize.js';
import type { TreeCopy } from './tree-copy.js';

export interface Build {
  /** The folder as the user wrote it. */
  name: string;
  layer: Layer;
  kustomize: Kustomize;
  args: KustomizeArguments;
  folder: BuildFolder;
  /** Has been written. */
  copy: TreeCopy;
  planned: readonly PlannedFunction[];
  signal: AbortSignal;
}

/** Lets kustomize build the copy, and runs the functions that it asks for. Throws if it failed, or left one out. */
export async function runBuild(io: Io, build: Build): Promise<void> {
  const { name, layer, kustomize, folder, copy, planned, signal } = build;
  // A function whose kustomize has ended runs for nothing.
  const kustomizeEnded = new AbortController();
  const handler = new PlannedCalls(planned, name, AbortSignal.any([signal, kustomizeEnded.signal]));
  const calls = await FunctionCalls.serve(folder, planned.length, (call) => handler.run(call));
  const remote = remoteFolders(layer);
  const mapPaths = (text: string) =>
    remote.reduce((mapped, base) => mapped.replaceAll(base.folder, base.url), copy.mapPaths(text));
  let code: number | NodeJS.Signals;
  try {
    const run = { kustomize, folder: copy.at(layer.folder), args: kustomizeFlags(build), mapPaths };
    code = await runKustomize(io, run, folder, {
      signal,
      onExit: () => kustomizeEnded.abort(new KrmhubError('unavailable', 'kustomize has ended')),
    });
  } finally {
    await calls.close();
  }
  signal.throwIfAborted();
  if (calls.failure !== undefined && typeof code === 'number') throw calls.failure;
  if (code !== 0) {
    const how = typeof code === 'number' ? `exited with code ${code}` : `was killed by ${code}`;
    const message = `cannot build ${name}: ${path.basename(kustomize.file)} ${how}`;
    throw new KrmhubError('invalid-document', escapeControls(message));
  }
  const [unused] = handler.unused();
  if (unused === undefined) return;
  const message = `cannot build ${name}: kustomize did not run ${unused}, so the output is incomplete`;
  throw new KrmhubError('function-failed', escapeControls(message), {
    hint: 'Use kustomize 5, or kubectl 1.27 or later.',
  });
}

function kustomizeFlags({ args, planned }: Build): string[] {
  const needsPlugins = args.enableAlphaPlugins || planned.length > 0;
  const needsNetwork = args.network || planned.some(({ network }) => network);
  return [
    ...args.forwarded,
    ...(needsPlugins ? ['--enable-alpha-plugins'] : []),
    ...(needsNetwork ? ['--network'] : []),
  ];
}

/** The local folders of remote bases. */
function remoteFolders({ layers, remote }: Layer): { folder: string; url: string }[] {
  return layers.flatMap((base) => [
    ...(base.remote === undefined || base.remote === remote
      ? []
      : [{ folder: base.folder, url: base.remote }]),
    ...remoteFolders(base),
  ]);
}
