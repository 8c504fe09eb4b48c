import { sha256 } from '@krmhub/schema/digest';
import type { EntryStore } from '../../cache/cache-writer.js';

/**
 * Returns what this version of krmhub read of the same bytes before, from the cache; otherwise reads them. `name`
 * contains the digest of the bytes. To read an entry loads a parser and all rules for entries, which takes longer than
 * the rest of a short command. Nothing is stored if `read` rejects.
 */
export async function remembered<Value extends object>(
  { cache, writer }: EntryStore,
  name: string,
  read: () => Promise<Value>,
): Promise<Value> {
  const key = `${cache.version} ${name}`;
  const record = await cache.readRecord('entries', key);
  if (record !== undefined && sha256(JSON.stringify(record.value)) === record.check)
    return record.value as Value;
  const value = await read();
  const text = JSON.stringify(value);
  await writer.write((to) => to.writeRecord('entries', key, { check: sha256(text), value }));
  return value;
}
