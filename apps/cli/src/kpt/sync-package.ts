/**
 * Fills in the functions of a Kptfile, and runs executables and scripts for kpt.
 *
 * kpt does not read catalogs. An entry gets an image by digest, or the command line `krmhub kpt exec` with what may
 * run, by digest. Everything else in the Kptfile stays as it is.
 *
 * @module
 */

import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Cache } from '@krmhub/consume/cache/cache';
import { diskError } from '@krmhub/consume/files/read-file';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import {
  catalogRelease,
  findReleaseTakedown,
  findTakedown,
  isDeletable,
  knownRegistries,
  recordOrigin,
  withTakedowns,
} from '@krmhub/consume/trust/takedowns';
import { KPTFILE } from '@krmhub/functions/plan';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import { pinnedCode } from '../function-configs/exec-line.js';
import type { Layer } from '../function-configs/layers.js';
import { readLayers } from '../function-configs/read-layers.js';
import { FINDINGS } from '../io/exit-code.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printWarning } from '../io/print.js';
import { openLock, packageSettings } from '../lock/open-lock.js';
import { packageFunctions } from '../lock/search-order.js';
import { consumePorts } from '../registry/consume-ports.js';
import { type EntryPlan, type PackagePlan, planPackage } from './plan-package.js';

export interface SyncOptions {
  resolution: ResolverOptions;
  /** Lock file, and whether to use nothing but it and the cache. */
  lock?: string;
  imagePrefix?: string;
  frozen: boolean;
  /** Print what would change, and write nothing. */
  check: boolean;
  output: OutputFormat;
}

/**
 * Fills in what runs each function of the pipelines of a package and its subpackages. Plans all Kptfiles before it
 * writes the first.
 */
export async function syncPackage(io: Io, folder: string, options: SyncOptions): Promise<void> {
  const root = path.resolve(io.cwd, folder);
  await requireKptfile(root, folder);
  const { imagePrefix } = options;
  const layer = await readLayers(io, folder, {
    type: 'kptfile',
    ...defined({ imagePrefix }),
  });
  const plans = await planPackages(io, layer, options);
  const changed = plans.filter(({ text, after }) => after !== text);
  const written = await plannedFiles(changed);
  if (!options.check) {
    for (const [file, text] of written) await writeFileAtomically(file, text, { overwrite: true });
  }
  const data = {
    packages: plans.map(({ name, text, after, entries }) => ({
      file: name,
      changed: after !== text,
      functions: entries,
    })),
  };
  await printData(io, options.output, data, () => printPlans(io, folder, plans, options.check));
  if (options.check && changed.length > 0) io.exitCode = FINDINGS;
  if (!options.frozen && !options.resolution.offline) await reportTakedowns(io, layer, plans, options);
}

/**
 * Returns the new text of each file. A link is written through, as `fn render` does. Throws `conflict` if two packages
 * have different texts for one file.
 */
async function plannedFiles(plans: readonly PackagePlan[]): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const { file, name, after } of plans) {
    const target = await realpath(file);
    if ((files.get(target) ?? after) !== after) {
      throw new KrmhubError('conflict', `cannot write ${name}: it is the same file as another Kptfile`, {
        hint: 'Replace the symbolic link by a file.',
      });
    }
    files.set(target, after);
  }
  return files;
}

/** Reports the lines whose script or release was taken down. */
async function reportTakedowns(
  io: Io,
  layer: Layer,
  plans: readonly PackagePlan[],
  { check, resolution: { catalogs, official } }: SyncOptions,
): Promise<void> {
  const named = kptfileLayers(layer).flatMap((one) => one.catalogs.map(({ text }) => text));
  const searched = [...new Set([official ?? [], catalogs, named].flat())];
  const context = { check, catalogs: searched, registries: await knownRegistries(io, searched) };
  await withTakedowns(consumePorts(io), async (cache) => {
    for (const { name, entries } of plans) {
      for (const entry of entries) {
        const found = await entryTakedown(io, cache, entry, context);
        if (found === undefined) continue;
        const { what, reason } = found;
        await printWarning(io, escapeControls(`${name}: ${entry.entry}: ${what}: ${reason}`));
        io.exitCode = FINDINGS;
      }
    }
  });
}

/** Returns why what an entry runs after this command was taken down; also records its origin, for `kpt exec`. */
async function entryTakedown(
  io: Io,
  cache: Cache,
  { apiVersion, kind, outcome, image, exec, before, release, catalog }: EntryPlan,
  {
    check,
    catalogs,
    registries,
  }: { check: boolean; catalogs: readonly string[]; registries: readonly string[] },
): Promise<{ what: string; reason: string } | undefined> {
  const name = { apiVersion: apiVersion ?? '', kind: kind ?? '', release };
  const isFrom = catalog !== undefined && release !== undefined;
  const origin = isFrom ? catalogRelease(io, catalog, name) : undefined;
  if (origin !== undefined) {
    for (const { sha256 } of pinnedCode(image ?? exec)) await recordOrigin(cache, sha256, origin.registry);
  }
  const codes = pinnedCode((check ? before : undefined) ?? image ?? exec);
  const found = await findTakedown(consumePorts(io), cache, codes, registries);
  if (found !== undefined) {
    const what = codes.some(isDeletable) ? 'its script does not run' : 'its release was taken down';
    return { what, reason: found };
  }
  if (outcome !== 'left' || apiVersion === undefined) return undefined;
  // No catalog has it any more: all its releases may be gone.
  for (const text of catalogs) {
    const all = catalogRelease(io, text, { apiVersion, kind: kind ?? '' });
    const reason = all === undefined ? undefined : await findReleaseTakedown(consumePorts(io), cache, all);
    if (reason !== undefined) return { what: 'its function was taken down', reason };
  }
  return undefined;
}

async function requireKptfile(root: string, folder: string): Promise<void> {
  const status = await stat(path.join(root, KPTFILE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw diskError(error, `cannot read ${folder}`);
  });
  if (status?.isFile() === true) return;
  throw new KrmhubError('not-found', `cannot synchronize ${folder}: it has no Kptfile`, {
    hint: 'Use the folder of a kpt package, or create one: kpt pkg init FOLDER',
  });
}

async function planPackages(io: Io, layer: Layer, options: SyncOptions): Promise<PackagePlan[]> {
  const { lock: file, frozen } = options;
  const lock = await openLock(io, {
    folder: layer.folder,
    ...defined({ lock: file }),
    imagePrefix: options.imagePrefix,
    frozen,
  });
  const { catalogs, official } = options.resolution;
  const resolver = await openResolver(consumePorts(io), {
    ...options.resolution,
    ...(await packageSettings(io, layer.folder)),
    ...defined({ lock }),
  });
  try {
    const functions = packageFunctions(layer, lock);
    const plans: PackagePlan[] = [];
    for (const one of kptfileLayers(layer)) {
      plans.push(
        await planPackage(io, one, {
          root: layer.folder,
          resolver,
          lock,
          functions,
          hasCatalogs: catalogs.length > 0 || official !== undefined,
        }),
      );
    }
    return plans;
  } finally {
    await resolver.close();
  }
}

/** A package before its subpackages. */
function kptfileLayers(layer: Layer): Layer[] {
  return [layer, ...layer.layers.flatMap(kptfileLayers)];
}

async function printPlans(
  io: Io,
  folder: string,
  plans: readonly PackagePlan[],
  isCheck: boolean,
): Promise<void> {
  const warned = new Set<string>();
  for (const { name, text, after, entries } of plans) {
    if (isCheck && after !== text) {
      const { printPatch } = await import('../io/print-patch.js');
      await printPatch(io, [{ type: 'update', path: name, before: text, after }]);
    }
    for (const { entry, apiVersion, kind, outcome, image, exec, release, reason, warnings } of entries) {
      const place = `${name}: ${entry}`;
      const what =
        apiVersion === undefined
          ? ''
          : ` (${apiVersion} ${kind}${release === undefined ? '' : ` ${release}`})`;
      for (const warning of warnings) {
        const about = `${what}: ${warning}`;
        if (!warned.has(about)) await printWarning(io, escapeControls(place + about));
        warned.add(about);
      }
      if (outcome === 'left') {
        await printWarning(io, escapeControls(`${place}: unchanged (${image ?? exec}): ${reason}`));
      } else if (outcome !== 'unchanged' && !isCheck) {
        await printLine(io, escapeControls(`${place}${what}: ${image ?? exec}`));
      }
    }
  }
  const changed = plans.filter(({ text, after }) => after !== text);
  const functions = plans.flatMap(({ entries }) => entries).filter(({ outcome }) => outcome !== 'left');
  const stale = functions.filter(({ outcome }) => outcome !== 'unchanged');
  if (stale.length === 0) {
    await printLine(io, `${plural(functions.length, 'function is', 'functions are')} up to date`);
  } else if (isCheck) {
    await printLine(io, `${plural(stale.length, 'function is', 'functions are')} out of date`);
    await printLine(io, escapeControls(`  hint: Run: krmhub kpt sync ${shellWord(folder)}`));
  } else {
    await printLine(
      io,
      `updated ${plural(stale.length, 'function')} in ${plural(changed.length, 'Kptfile')}`,
    );
  }
}
