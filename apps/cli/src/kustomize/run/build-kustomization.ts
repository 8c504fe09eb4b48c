/**
 * Builds a kustomization or Composition with the functions of its catalogs.
 *
 * kustomize does not read catalogs, so it builds a copy of the files in which the runtimes are filled in. It calls
 * functions through a script that passes the call to this process, so only resolved functions run.
 *
 * @module
 */

import { platform } from 'node:os';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import type { Layer } from '../../function-configs/layers.js';
import { openRemoteBases, type RemoteBases } from '../../function-configs/open-remote-bases.js';
import { readLayers } from '../../function-configs/read-layers.js';
import { interruptible, watchForStop } from '../../io/interrupt.js';
import type { Io } from '../../io/io.js';
import { lockCommand } from '../../lock/lock-file.js';
import { openLock, type PlannedLock, packageSettings } from '../../lock/open-lock.js';
import { consumePorts } from '../../registry/consume-ports.js';
import type { RunPermissions } from '../../run/permissions.js';
import type { RunnerOptions } from '../../run/prepared-function.js';
import { Runner } from '../../run/runner.js';
import { type BuildFolder, makeBuildFolder } from './build-folder.js';
import { copiedLayers, editLayers } from './edit-layers.js';
import { findKustomize } from './find-kustomize.js';
import { type KustomizeArguments, readKustomizeArguments } from './kustomize-arguments.js';
import { planFunctions } from './plan-functions.js';
import type { PlannedFunction } from './planned-function.js';
import { runBuild } from './run-build.js';
import { TreeCopy } from './tree-copy.js';

export interface BuildOptions {
  resolution: ResolverOptions;
  permissions: RunPermissions;
  lock?: string;
  /** Counts in place of the lock file. */
  plannedLock?: PlannedLock;
  frozen: boolean;
  /** Run only images with a digest, of their reference or of the lock file. */
  requireDigest: boolean;
  /** Program that builds. Default: kustomize, else kubectl. */
  kustomize?: string;
  /** What follows `--`. */
  arguments: readonly string[];
  onRun?: RunnerOptions['onRun'];
}

/**
 * Builds a kustomization with the functions that its catalogs name: resolves, verifies and fetches each of them, copies
 * the user's files with the runtimes filled in, and lets kustomize build the copy. The user's files are only read.
 */
export async function buildKustomization(io: Io, name: string, options: BuildOptions): Promise<void> {
  const args = readKustomizeArguments(options.arguments);
  requireShell();
  const kustomize = await findKustomize(io, options.kustomize);
  const signal = watchForStop(io, escapeControls(`build of ${name} interrupted`));
  // All that is temporary is in this folder, which is removed even if this process is killed.
  const folder = await makeBuildFolder();
  try {
    await withRemoteBases(io, folder, options, async (fetchRemote) => {
      const layer = await interruptible(readLayers(io, name, { fetchRemote, anyFile: args.anyFile }), signal);
      requireBuildable(name, layer);
      const copy = new TreeCopy(folder.tree);
      await withFunctions(io, { layer, args, folder, copy, signal }, options, async (planned) => {
        await writeCopy(copy, layer, planned);
        await runBuild(io, { name, layer, kustomize, args, folder, copy, planned, signal });
      });
    });
  } finally {
    await folder.remove();
  }
}

async function withRemoteBases(
  io: Io,
  { temporary }: BuildFolder,
  { resolution: { offline } }: BuildOptions,
  work: (fetch: RemoteBases['fetch']) => Promise<void>,
): Promise<void> {
  const remote = await openRemoteBases(io, { offline, temporaryFolder: temporary });
  try {
    await work(remote.fetch);
  } finally {
    await remote.close();
  }
}

interface Planning {
  layer: Layer;
  args: KustomizeArguments;
  folder: BuildFolder;
  copy: TreeCopy;
  signal: AbortSignal;
}

/** Does the work with functions that are ready to run, and then removes what belongs to them. */
async function withFunctions(
  io: Io,
  { layer, args, folder, copy, signal }: Planning,
  { resolution, permissions, frozen, requireDigest, lock: file, plannedLock, onRun }: BuildOptions,
  work: (planned: PlannedFunction[]) => Promise<void>,
): Promise<void> {
  const lock = await openLock(io, { folder: layer.folder, lock: file, frozen, planned: plannedLock });
  const resolver = await openResolver(consumePorts(io), {
    ...resolution,
    ...(await packageSettings(io, layer.folder)),
    ...defined({ lock }),
  });
  const runner = new Runner(io, permissions, {
    acceptDocuments: 'named',
    offline: resolution.offline,
    temporaryFolder: folder.temporary,
    signal,
    ...defined({ onRun }),
  });
  try {
    const planning = planFunctions(io, layer, {
      mapPaths: (text) => copy.mapPaths(text),
      resolver,
      runner,
      args,
      lock,
      requireDigest,
      lockCommand: lockCommand(io, { folder: layer.folder, lock: file }),
      signal,
    });
    await work(await interruptible(planning, signal));
  } finally {
    await runner.close();
    await resolver.close();
  }
}

async function writeCopy(copy: TreeCopy, root: Layer, planned: readonly PlannedFunction[]): Promise<void> {
  const addFolders = async (layer: Layer): Promise<void> => {
    await copy.addFolder(layer.folder);
    for (const inner of copiedLayers(layer)) await addFolders(inner);
  };
  await addFolders(root);
  const { texts, named } = await editLayers(root, planned);
  for (const [file, text] of texts) copy.addText(file, text);
  for (const one of named) await copy.addPath(one);
  await copy.write();
}

/** kustomize calls functions through a script. */
function requireShell(): void {
  if (platform() !== 'win32') return;
  throw new KrmhubError('unsupported', 'cannot build on Windows: this needs a POSIX shell', {
    hint: 'Run the command in WSL, the Windows Subsystem for Linux.',
  });
}

function requireBuildable(name: string, { type }: Layer): void {
  if (['kustomization', 'component', 'composition'].includes(type)) return;
  const what = 'neither a kustomization nor a Composition';
  throw new KrmhubError('usage', escapeControls(`cannot build ${name}: it is ${what}`), {
    hint:
      type === 'kptfile'
        ? escapeControls(`Render the kpt package: krmhub fn render ${shellWord(name)}`)
        : 'Use a folder with a kustomization.yaml or a composition.yaml.',
  });
}
