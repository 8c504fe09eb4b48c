import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';
import type { FunctionRuntime } from '@krmhub/schema/definition';
import { type Digest, isDigest, sha256 } from '@krmhub/schema/digest';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { Cache } from '../../cache/cache.js';
import type { EntryStore } from '../../cache/cache-writer.js';
import type { DocumentFetcher } from '../../cache/fetch-document.js';
import type { NamedCatalog } from '../../references/parse-catalog.js';
import { checkedVersion } from '../checked-version.js';
import type { SearchedFunction } from '../search-context.js';

/** An API version of a function in a catalog. */
export interface SeenFunction extends SearchedFunction {
  catalog: NamedCatalog;
}

/** What a trusted catalog has for a definition. */
export interface SeenVersion {
  entry: CheckedDefinition;
  runtime: FunctionRuntime;
}

/** Reads what the caches know, for who asks now. */
interface SeenContext {
  fetcher: Pick<DocumentFetcher, 'caches' | 'isOffline'>;
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
  context: SeenContext,
  fn: SeenFunction,
  definition: Digest,
  digests?: readonly string[],
): Promise<FunctionRuntime | undefined> {
  return (await readSeen(context, fn, definition, digests))?.record.runtime as FunctionRuntime | undefined;
}

/** As `findSeen`, for the schema. */
export async function findSeenSchema(
  context: SeenContext,
  fn: SeenFunction,
  definition: Digest,
  digests?: readonly string[],
): Promise<CheckedDefinition | undefined> {
  const seen = await readSeen(context, fn, definition, digests);
  const schema = seen?.record.schema;
  if (seen === undefined || typeof schema !== 'string' || !isDigest(schema)) return undefined;
  const bytes = await seen.cache.readBlob(schema, DOCUMENT_LIMITS.maxDefinitionBytes);
  return bytes === undefined ? undefined : JSON.parse(new TextDecoder().decode(bytes));
}

async function readSeen(
  { fetcher }: SeenContext,
  fn: SeenFunction,
  definition: Digest,
  digests: readonly string[] = [''],
): Promise<{ record: Record<string, unknown>; cache: Cache } | undefined> {
  for (const cache of await fetcher.caches(fn.catalog.address)) {
    for (const state of digests) {
      const record = await cache.readRecord('seen', seenName(fn, definition, state), {
        ofAnyone: fetcher.isOffline,
      });
      if (record?.runtime !== undefined && sha256(JSON.stringify(record.runtime)) === record.check)
        return { record, cache };
    }
  }
  return undefined;
}

/** Records that a trusted catalog does not have a function. */
export async function rememberAbsent({ cache, writer }: EntryStore, fn: SeenFunction): Promise<void> {
  const name = seenName(fn, 'absent', '');
  if ((await cache.readRecord('seen', name)) !== undefined) return;
  await writer.write((to) => to.writeRecord('seen', name, { absent: true }));
}

export async function wasAbsent({ fetcher }: SeenContext, fn: SeenFunction): Promise<boolean> {
  for (const cache of await fetcher.caches(fn.catalog.address)) {
    const record = await cache.readRecord('seen', seenName(fn, 'absent', ''), {
      ofAnyone: fetcher.isOffline,
    });
    if (record?.absent === true) return true;
  }
  return false;
}

function seenName({ catalog, apiVersion, kind }: SeenFunction, definition: string, state: string): string {
  return JSON.stringify([catalog.identity, state, apiVersion, kind, definition]);
}
