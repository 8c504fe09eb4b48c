import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';
import type { FunctionRuntime } from '@krmhub/schema/definition';
import { type Digest, isDigest, sha256 } from '@krmhub/schema/digest';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { NamedCatalog } from '../../references/parse-catalog.js';
import { checkedVersion } from '../checked-version.js';
import type { EntryStore } from '../read/catalog-reader.js';
import type { SearchedFunction } from '../search-context.js';

/** An API version of a function in a catalog. */
export interface SeenFunction extends SearchedFunction {
  catalog: Pick<NamedCatalog, 'identity'>;
}

/** What a trusted catalog has for a definition. */
export interface SeenVersion {
  entry: CheckedDefinition;
  runtime: FunctionRuntime;
}

/**
 * Records what a trusted catalog has for a definition: the runtime, and the schema as a blob. The bytes of a definition
 * in the cache would not do: what no one trusts is cached too. `digest` is that of the catalog, for a user who trusts
 * only exactly these bytes of it.
 */
export async function rememberSeen(
  { cache, writer }: EntryStore,
  fn: SeenFunction,
  { definition, digest, entry, runtime }: SeenVersion & { definition: Digest; digest?: Digest | undefined },
): Promise<void> {
  const check = sha256(JSON.stringify(runtime));
  const schema = Buffer.from(JSON.stringify(checkedVersion(entry, fn.apiVersion)));
  const blob = sha256(schema);
  const isStored = (await cache.sizeOfBlob(blob)) !== undefined;
  for (const state of digest === undefined ? [''] : ['', digest]) {
    const name = seenName(fn, definition, state);
    const known = await cache.readRecord('seen', name);
    if (isStored && known?.check === check && known.schema === blob) continue;
    await writer.write(async (to) => {
      await to.writeBlob(schema);
      await to.writeRecord('seen', name, { check, runtime, schema: blob });
    });
  }
}

/**
 * Returns the runtime that a trusted catalog had for a definition; with `digests`, only what a catalog with one of
 * these digests had.
 */
export async function findSeen(
  store: Pick<EntryStore, 'cache'>,
  fn: SeenFunction,
  definition: Digest,
  digests?: readonly string[],
): Promise<FunctionRuntime | undefined> {
  return (await readSeen(store, fn, definition, digests))?.runtime as FunctionRuntime | undefined;
}

/** As `findSeen`, for the schema. */
export async function findSeenSchema(
  store: Pick<EntryStore, 'cache'>,
  fn: SeenFunction,
  definition: Digest,
  digests?: readonly string[],
): Promise<CheckedDefinition | undefined> {
  const { schema } = (await readSeen(store, fn, definition, digests)) ?? {};
  if (typeof schema !== 'string' || !isDigest(schema)) return undefined;
  const bytes = await store.cache.readBlob(schema, DOCUMENT_LIMITS.maxDefinitionBytes);
  return bytes === undefined ? undefined : JSON.parse(new TextDecoder().decode(bytes));
}

async function readSeen(
  { cache }: Pick<EntryStore, 'cache'>,
  fn: SeenFunction,
  definition: Digest,
  digests: readonly string[] = [''],
): Promise<Record<string, unknown> | undefined> {
  for (const state of digests) {
    const record = await cache.readRecord('seen', seenName(fn, definition, state));
    if (record?.runtime !== undefined && sha256(JSON.stringify(record.runtime)) === record.check)
      return record;
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
