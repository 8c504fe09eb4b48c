import { stat } from 'node:fs/promises';
import type { RegistryKey as PublishedKey } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { addKeyFile, type Owner, readKeyFiles } from '../catalogs/sign/key-files.js';
import { publishedKeys, signingKey } from '../catalogs/sign/registry-keys.js';
import { dataPaths } from '../store/data-folder.js';

/** Operations on the keys of a registry, which may be running. */

export interface ListedKey extends PublishedKey {
  state: 'next' | 'signing' | 'retired';
}

/** Where the keys of a registry are. */
export interface KeyPlace {
  dataFolder: string;
  /** Absent for `keys` in the data folder. */
  keysFolder?: string;
}

/** Lists the keys, newest first, without secrets. */
export async function listRegistryKeys(place: KeyPlace, now: Date): Promise<ListedKey[]> {
  const keys = await readKeyFiles((await registryIn(place)).folder);
  if (keys.length === 0) return [];
  const { fingerprint } = signingKey(keys, now).publicKey;
  const current = keys.findIndex(({ publicKey }) => publicKey.fingerprint === fingerprint);
  return publishedKeys(keys).map((key, index) => ({
    ...key,
    state: index < current ? 'next' : index === current ? 'signing' : 'retired',
  }));
}

/**
 * Creates another key, which signs from a given time. Rejects with `usage` if that time is past or used by another
 * key, and `unavailable` if there is no registry or a key is damaged.
 */
export async function rotateRegistryKey(
  place: KeyPlace,
  { from, now }: { from?: Date; now: Date },
): Promise<{ keys: ListedKey[]; made: ListedKey }> {
  const { folder, owner } = await registryIn(place);
  const keys = await readKeyFiles(folder);
  const validFrom = from ?? now;
  if (validFrom.getTime() < now.getTime()) {
    throw new KrmhubError('usage', `start time ${validFrom.toISOString()} is in the past`, {
      hint: 'To use the key now, remove --valid-from.',
    });
  }
  // A key with a later start time is not changed; it takes over at its time.
  const known = keys.map((key) => Date.parse(key.validFrom));
  const signing = keys.length === 0 ? undefined : signingKey(keys, now).validFrom;
  if (
    known.includes(validFrom.getTime()) ||
    (signing !== undefined && validFrom.getTime() <= Date.parse(signing))
  ) {
    throw new KrmhubError('usage', `a key that starts at ${validFrom.toISOString()} already exists`, {
      hint: 'List the keys with `krmhub key list`, and use a later time with --valid-from.',
    });
  }
  await addKeyFile(folder, validFrom, owner === undefined ? {} : { owner });
  const listed = await listRegistryKeys(place, now);
  const made = listed.find((key) => Date.parse(key.validFrom) === validFrom.getTime());
  if (made === undefined) throw new Error('the new key is missing in the key folder');
  return { keys: listed, made };
}

async function registryIn({ dataFolder, keysFolder }: KeyPlace): Promise<{ folder: string; owner?: Owner }> {
  const { database, databaseRecord, keys } = dataPaths(dataFolder);
  const owner = await stat(database).catch(() => stat(databaseRecord).catch(() => undefined));
  if (keysFolder !== undefined) return { folder: keysFolder, ...defined({ owner }) };
  if (owner !== undefined) return { folder: keys, owner };
  throw new KrmhubError('unavailable', `no registry found: ${database} is missing`, {
    hint: 'Set the data folder of a registry with --data or KRMHUB_DATA.',
  });
}
