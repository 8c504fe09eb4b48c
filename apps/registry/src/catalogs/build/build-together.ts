import { RevisionConflict, type SnapshotRecord } from '@krmhub/catalog';
import { type BuildSnapshotDeps, buildSnapshot, catalogReader, commitChanges } from './build-snapshot.js';
import { type ChangedEntries, compareTogether, type Together } from './changed-entries.js';
import { readSources } from './due-build.js';
import type { ComparedCatalog } from './entry-comparison.js';

/** What is read before catalogs are compared together. */
interface StateTogether {
  throughEvent: number;
  compared: ComparedCatalog[];
}

/**
 * Builds catalogs with new recipes, those with few changes first. Reports each that it builds, or fails to build. It
 * leaves out those with many functions, except the first one, so that memory is bounded, and ends early if it may not
 * continue: the caller builds the others later.
 */
export async function buildTogether(
  deps: BuildSnapshotDeps,
  names: readonly string[],
  together: Together & {
    built(name: string, throughEvent: number, snapshot: SnapshotRecord | undefined): void;
  },
): Promise<void> {
  const { built, failed, mayContinue } = together;
  const { throughEvent, compared } = await readTogether(deps, names, together);
  for (const { of, ...changes } of await compareTogether(deps.store, compared, together)) {
    const { name } = of.catalog;
    try {
      built(name, throughEvent, await commitOrBuild(deps, of, throughEvent, changes));
    } catch (error) {
      await failed(name, error);
    }
    if (!(await mayContinue())) return;
  }
}

/** Commits changes. If something changed meanwhile, such as the recipe, it builds the catalog from what there is now. */
async function commitOrBuild(
  deps: BuildSnapshotDeps,
  of: ComparedCatalog,
  throughEvent: number,
  changes: ChangedEntries,
): Promise<SnapshotRecord | undefined> {
  try {
    return await commitChanges(deps, of, throughEvent, changes);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
    return buildSnapshot(deps, of.catalog.name);
  }
}

async function readTogether(
  deps: BuildSnapshotDeps,
  names: readonly string[],
  { built, failed }: Pick<Parameters<typeof buildTogether>[2], 'built' | 'failed'>,
): Promise<StateTogether> {
  const { store } = deps;
  const throughEvent = await store.lastEvent();
  const read = catalogReader(store);
  const all = new Map((await store.catalogs()).map((catalog) => [catalog.name, catalog]));
  const compared: ComparedCatalog[] = [];
  for (const name of names) {
    const catalog = all.get(name);
    try {
      if (catalog?.throughEvent !== 0) {
        // It was built meanwhile, or deleted.
        built(name, throughEvent, await buildSnapshot(deps, name));
        continue;
      }
      const { sources, isWaiting } = await readSources(store, catalog);
      // Its recipe was applied meanwhile, so it is due again.
      if (isWaiting) built(name, throughEvent, undefined);
      else compared.push(await read(catalog, sources));
    } catch (error) {
      await failed(name, error);
    }
  }
  return { throughEvent, compared };
}
