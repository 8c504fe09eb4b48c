import path from 'node:path';
import {
  compareLockedImages,
  compareLocks,
  type Lock,
  type LockedFunction,
  type LockedImage,
  lockKey,
  planLock,
  readLock,
  writeLock,
} from '@krmhub/catalog';
import { SETTINGS_FILE } from '@krmhub/catalog/settings/settings';
import { imageRepository } from '@krmhub/consume/resolve/images/named-image';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import { byType } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { isExecLine } from '../function-configs/exec-line.js';
import type { Layer, ListedFunction } from '../function-configs/layers.js';
import { openRemoteBases } from '../function-configs/open-remote-bases.js';
import { readLayers } from '../function-configs/read-layers.js';
import type { Io } from '../io/io.js';
import { printWarning } from '../io/print.js';
import { displayPath, displayPlace } from './display-path.js';
import { describeChanges } from './function-changes.js';
import {
  EMPTY_LOCK,
  lockCommand,
  lockPath,
  packageFolder,
  readLockFile,
  type StoredLock,
} from './lock-file.js';
import type { LockReport } from './lock-report.js';
import { lockedFunctions } from './locked-functions.js';
import { packageSettings } from './open-lock.js';
import type { ResolvedFunction } from './resolve-functions.js';
import { resolveImages } from './resolve-images.js';
import { type LockedUse, lockFailure, resolveUses } from './resolve-uses.js';
import { packageFunctions } from './search-order.js';

export interface LockPlanOptions extends ResolverOptions {
  /** Kinds to resolve again; empty for all; absent for none. */
  upgrade?: readonly string[];
  /** Of these, functions by `lockKey` and images that stay as they are locked. */
  keep?: ReadonlySet<string>;
  /** Keep also functions whose next release rejects a functionConfig of the package. Default: it is an error. */
  keepsRejected?: boolean;
  lockFile?: string;
  imagePrefix?: string;
}

/** The lock file of a package as it is, and as it would be. */
export interface LockPlan {
  /** Absolute. */
  file: string;
  /** Locks the package, for hints. */
  command: string;
  layer: Layer;
  stored: StoredLock | undefined;
  lock: Lock;
  /** The bytes to write. */
  text: string;
  uses: readonly LockedUse[];
  /** The functions of the package. */
  listed: readonly ListedFunction[];
  report: LockReport;
  /** Upgrades that were left out because of `keepsRejected`. */
  rejected: readonly RejectedUpgrade[];
}

/** A functionConfig that the release of an upgrade rejects. */
export interface RejectedUpgrade extends Pick<LockedFunction, 'apiVersion' | 'kind'> {
  /** Releases. */
  before: string;
  after: string;
  /** `FILE:LINE:COLUMN`; the file relative to the working directory. */
  place: string;
  message: string;
  hint?: string;
}

/**
 * Plans the lock file of a package: what is locked stays, what is new is resolved, and what is no longer used goes.
 * With `upgrade`, kinds are resolved again. Writes nothing. Throws if a function cannot be resolved.
 */
export async function planLockFile(io: Io, target: string, options: LockPlanOptions): Promise<LockPlan> {
  const folder = await packageFolder(io, target);
  const file = lockPath(io, folder, options.lockFile);
  const { imagePrefix, keep = new Set() } = options;
  const command = lockCommand(io, { folder: target, lock: options.lockFile, imagePrefix });
  const stored = await readLockFile(io, file, command);
  const common = { folder: path.dirname(file), frozen: false, command };
  const layer = await readPackage(io, target, options);
  const old = stored && lockedFunctions(io, stored.lock, common);
  const listed = packageFunctions(layer, old);
  const isUpgraded = upgradedNames(listed, options.upgrade);
  const before = stored?.lock;
  const locked = lockedFunctions(io, before ?? EMPTY_LOCK, {
    ...common,
    except: (fn: LockedFunction) => isUpgraded(fn.kind) && !keep.has(lockKey(fn)),
    exceptImage: ({ image }: LockedImage) => isUpgraded(image) && !keep.has(image),
  });
  const settings = await packageSettings(io, folder);
  await warnOfUnused(io, listed, settings);
  upgradedNames(listed, options.ignoreMinAge);
  const resolving = { ...options, ...settings };
  const { uses, failed } = await resolveUses(io, listed, {
    options: resolving,
    locked,
    before,
    folder: path.dirname(file),
  });
  const named = await resolveImages(io, listed, { options, locked });
  failed.push(...named.failed);
  if (failed.length > 0) {
    const rejected = options.keepsRejected ? rejectedUpgrades(io, failed) : [];
    const kept = new Set([...keep, ...rejected.map(({ key }) => key)]);
    if (rejected.length < failed.length || kept.size === keep.size) throw lockFailure(io, target, failed);
    const others = await planLockFile(io, target, { ...options, keep: kept });
    return { ...others, rejected: [...rejected.map(({ upgrade }) => upgrade), ...others.rejected] };
  }
  const lock = planLock(uses, before, named.images);
  const text = checkedText(lock);
  const changes = await describeChanges(io, compareLocks(before, lock), {
    before,
    locked: old,
    folder: path.dirname(file),
    after: lock,
    uses,
    options,
  });
  const report: LockReport = {
    file: displayPath(io, file),
    isChanged: text !== stored?.text,
    catalogs: lock.catalogs.length,
    functions: lock.functions.length,
    images: lock.images?.length ?? 0,
    unlocked: listed.filter(isUnlocked).length,
    changes,
    imageChanges: compareLockedImages(before, lock),
  };
  return { file, command, layer, stored, lock, text, uses, listed, report, rejected: [] };
}

function rejectedUpgrades(
  io: Io,
  failed: readonly ResolvedFunction[],
): { key: string; upgrade: RejectedUpgrade }[] {
  return failed.flatMap((one) => {
    if (one.error === undefined || one.upgrade === undefined) return [];
    const { listed, error, upgrade } = one;
    const { locked, release: after } = upgrade;
    const { apiVersion, kind, release: before = '' } = locked;
    const place = displayPlace(io, listed);
    const { message, hint } = error;
    return [
      {
        key: lockKey(locked),
        upgrade: { apiVersion, kind, before, after, place, message, ...defined({ hint }) },
      },
    ];
  });
}

/** A misspelled kind in the settings would have no effect. */
async function warnOfUnused(
  io: Io,
  listed: readonly ListedFunction[],
  { settings }: Pick<ResolverOptions, 'settings'>,
): Promise<void> {
  for (const { group, kind, range } of settings?.functions ?? []) {
    const isUsed = listed.some(
      ({ request }) =>
        request.kind === kind && (group === undefined || request.apiVersion.startsWith(`${group}/`)),
    );
    const name = group === undefined ? kind : `${group} ${kind}`;
    const problem = `no functionConfig of the package is a ${name}, so its range ${range} has no effect`;
    if (!isUsed) await printWarning(io, escapeControls(`${SETTINGS_FILE}: ${problem}`));
  }
}

async function readPackage(
  io: Io,
  target: string,
  { offline, imagePrefix }: LockPlanOptions,
): Promise<Layer> {
  const bases = await openRemoteBases(io, { offline });
  try {
    return await readLayers(io, target, {
      fetchRemote: bases.fetch,
      all: true,
      withKptfile: true,
      ...defined({ imagePrefix }),
    });
  } finally {
    await bases.close();
  }
}

/** Reports whether a functionConfig has a program or a script of the package, which no lock file has. */
function isUnlocked({ request, written }: ListedFunction): boolean {
  const runtime = written ?? request.inline;
  if (runtime === undefined) return false;
  return byType(runtime, {
    container: () => false,
    exec: ({ path }) => !isExecLine(path),
    starlark: ({ path }) => path !== undefined,
  });
}

/** Throws `usage` for a kind or image that the package does not use: most likely it is misspelled. */
function upgradedNames(
  listed: readonly ListedFunction[],
  wanted: readonly string[] | undefined,
): (name: string) => boolean {
  if (wanted === undefined) return () => false;
  if (wanted.length === 0) return () => true;
  const kinds = listed.flatMap(({ request }) => (request.inline === undefined ? request.kind : []));
  const images = listed.flatMap(({ request, written }) => {
    const runtime = written ?? request.inline;
    return runtime?.type === 'container' ? runtime.image : [];
  });
  const names = [...new Set([...kinds, ...images])];
  const isNamed = (name: string) => wanted.includes(name) || wanted.includes(imageRepository(name));
  const unknown = wanted.find((one) => !names.some((name) => name === one || imageRepository(name) === one));
  if (unknown === undefined) return isNamed;
  throw new KrmhubError(
    'usage',
    `cannot upgrade ${unknown}: the package has no functionConfig of this kind, and not this image`,
    {
      hint: names.length === 0 ? 'The package has no functions.' : `It has: ${names.sort().join(', ')}`,
    },
  );
}

/** The bytes to write, which must be read again as they are: a catalog can contain what no lock file may. */
function checkedText(lock: Lock): string {
  const text = writeLock(lock);
  const { diagnostics } = readLock(new TextEncoder().encode(text), 'krmhub.lock');
  if (diagnostics.length === 0) return text;
  throw new KrmhubError('invalid-document', 'cannot lock an invalid catalog entry', {
    diagnostics,
    hint: 'Ask the publisher of the catalog to correct the entry.',
  });
}
