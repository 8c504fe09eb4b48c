import type { FunctionRuntime } from '@krmhub/schema/definition';
import { type Digest, sha256 } from '@krmhub/schema/digest';
import type { EntryStore } from '../read/catalog-reader.js';
import type { NamedCatalog } from '../references/parse-catalog.js';
import type { SearchedFunction } from '../search-context.js';

/** An API version of a function in a catalog. */
export interface SeenFunction extends SearchedFunction {
  catalog: Pick<NamedCatalog, 'identity'>;
}

/**
 * Records that a trusted catalog has a definition with this runtime. The bytes of a definition in the cache would not
 * do: what no one trusts is cached too. `digest` is that of the catalog, for a user who trusts only exactly these bytes
 * of it.
 */
export async function rememberSeen(
  { cache, writer }: EntryStore,
  fn: SeenFunction,
  {
    definition,
    digest,
    runtime,
  }: { definition: Digest; digest?: Digest | undefined; runtime: FunctionRuntime },
): Promise<void> {
  const text = JSON.stringify(runtime);
  const check = sha256(text);
  for (const state of digest === undefined ? [''] : ['', digest]) {
    const name = seenName(fn, definition, state);
    if ((await cache.readRecord('seen', name))?.check === check) continue;
    await writer.write((to) => to.writeRecord('seen', name, { check, runtime }));
  }
}

/**
 * Returns the runtime that a trusted catalog had for a definition; with `digests`, only what a catalog with one of
 * these digests had.
 */
export async function findSeen(
  { cache }: Pick<EntryStore, 'cache'>,
  fn: SeenFunction,
  definition: Digest,
  digests: readonly string[] = [''],
): Promise<FunctionRuntime | undefined> {
  for (const state of digests) {
    const { runtime, check } = (await cache.readRecord('seen', seenName(fn, definition, state))) ?? {};
    if (runtime !== undefined && sha256(JSON.stringify(runtime)) === check) return runtime as FunctionRuntime;
  }
  return undefined;
}

/** Records that a trusted catalog does not have a function. */
export async function rememberAbsent({ cache, writer }: EntryStore, fn: SeenFunction): Promise<void> {
  const name = seenName(fn, 'absent', '');
  if ((await cache.readRecord('seen', name)) !== undefined) return;
  await writer.write((to) => to.writeRecord('seen', name, { absent: true }));
}

export async function wasAbsent({ cache }: Pick<EntryStore, 'cache'>, fn: SeenFunction): Promise<boolean> {
  return (await cache.readRecord('seen', seenName(fn, 'absent', '')))?.absent === true;
}

function seenName({ catalog, apiVersion, kind }: SeenFunction, definition: string, state: string): string {
  return JSON.stringify([catalog.identity, state, apiVersion, kind, definition]);
}
