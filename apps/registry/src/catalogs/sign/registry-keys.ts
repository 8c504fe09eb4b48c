import type { RegistryKey as PublishedKey } from '@krmhub/api/model';
import type { CatalogReader, KeyRecorder } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { SettingStore } from '../../store/setting-store.js';
import { addKeyFile, deleteHiddenKey, type RegistryKey, readKeyFiles, showKeyFile } from './key-files.js';

/** The keys of a running registry. It notices added files, and never creates keys itself. */
export class RegistryKeys {
  readonly #folder: string;
  readonly #clock: () => Date;
  readonly #log: Log;
  readonly #audit: KeyDeps['audit'];
  #keys: readonly RegistryKey[];
  /** Milliseconds since the epoch. */
  #readAt: number;

  private constructor(deps: KeyDeps, keys: readonly RegistryKey[]) {
    this.#folder = deps.folder;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#audit = deps.audit;
    this.#keys = keys;
    this.#readAt = deps.clock().getTime();
  }

  /** Rejects with `unavailable` if there is no key, or one is damaged. */
  static async open(deps: KeyDeps): Promise<RegistryKeys> {
    const keys = await readKeyFiles(deps.folder);
    if (keys.length === 0) throw missing(deps.folder);
    const opened = new RegistryKeys(deps, keys);
    await opened.#record(keys);
    return opened;
  }

  /** Returns all keys, newest first. The first ones may sign only from a later time. */
  async all(): Promise<readonly RegistryKey[]> {
    const now = this.#clock().getTime();
    if (Math.abs(now - this.#readAt) >= SERVER_LIMITS.readKeysMilliseconds) {
      this.#readAt = now;
      try {
        const keys = await readKeyFiles(this.#folder);
        if (keys.length === 0) throw missing(this.#folder);
        const known = new Set(fingerprints(this.#keys));
        if (fingerprints(keys).some((one) => !known.has(one))) await this.#record(keys);
        this.#keys = keys;
      } catch (error) {
        this.#log.error({ err: error }, 'cannot read the registry keys; using the previous keys');
      }
    }
    return this.#keys;
  }

  /** No program of the registry needs to run when a key file is added. */
  async #record(keys: readonly RegistryKey[]): Promise<void> {
    const added = keys.map(({ publicKey, validFrom }) => ({ fingerprint: publicKey.fingerprint, validFrom }));
    await this.#audit?.recordKeys(added.reverse(), this.#clock().toISOString());
  }

  /** Returns the key that signs now. */
  async signing(): Promise<RegistryKey> {
    return signingKey(await this.all(), this.#clock());
  }
}

export interface KeyDeps {
  folder: string;
  clock: () => Date;
  log: Log;
  /** Records new keys; absent for a thread beside another one that does. */
  audit?: KeyRecorder;
}

/**
 * Runs at every start: creates the first key if nothing was ever signed. If keys are missing, a new one would break
 * the trust of users who pinned the old one, so the operator must create it.
 */
export async function ensureRegistryKey(
  folder: string,
  { now, signed, shared }: { now: Date; signed: boolean; shared?: SharedKeys },
): Promise<void> {
  const keys = await readKeyFiles(folder);
  if (keys.length > 0) {
    if (shared !== undefined && !(await isKnown(keys, shared))) throw foreign(folder);
  } else if (signed) {
    throw missing(folder);
  } else if (shared === undefined) {
    await addKeyFile(folder, now);
  } else {
    await makeFirstKey(folder, now, shared);
  }
}

/**
 * Of the processes that make a key, one records it in the database, and its key gets the name of a key file. Before,
 * keys are hidden, so that no process that uses the same folder signs with one that is deleted. Every process, and
 * a later start, can complete an interrupted one.
 */
async function makeFirstKey(folder: string, now: Date, shared: SharedKeys): Promise<void> {
  let first = await shared.setting('registry-key');
  if (first === undefined) {
    const made = await addKeyFile(folder, now, { hidden: true });
    first = await shared.changeSetting('registry-key', undefined, made.publicKey.fingerprint);
    if (first !== made.publicKey.fingerprint) await deleteHiddenKey(folder, made);
  }
  await showKeyFile(folder, first);
  const keys = await readKeyFiles(folder);
  if (!keys.some(({ publicKey }) => publicKey.fingerprint === first)) throw missing(folder);
}

/** A database that several processes use. */
export type SharedKeys = SettingStore & CatalogReader;

/** Reports whether one of the keys is of the registry: one that signed, or the first one, which this records. */
async function isKnown(keys: readonly RegistryKey[], shared: SharedKeys): Promise<boolean> {
  const own: readonly string[] = fingerprints(keys);
  const isOwn = (key: string) => own.includes(key);
  const signed = await shared.signatureKeys();
  if (signed.some(isOwn)) return true;
  // Others signed: these keys cannot be the first ones.
  if (signed.length > 0 && (await shared.setting('registry-key')) === undefined) return false;
  return isOwn(await shared.changeSetting('registry-key', undefined, own.at(-1)!));
}

/** Returns the newest key that is not in the future; the first key if the clock was set back. */
export function signingKey(keys: readonly RegistryKey[], now: Date): RegistryKey {
  const key = keys.find(({ validFrom }) => Date.parse(validFrom) <= now.getTime()) ?? keys.at(-1);
  if (key === undefined) throw new RangeError('no key');
  return key;
}

/** Returns public keys with their validity, newest first. */
export function publishedKeys(keys: readonly RegistryKey[]): PublishedKey[] {
  return keys.map(({ publicKey: { fingerprint, pem }, validFrom }, index) => {
    const next = keys[index - 1];
    return {
      fingerprint,
      publicKey: pem,
      validFrom,
      ...defined({ validUntil: next?.validFrom }),
    };
  });
}

function fingerprints(keys: readonly RegistryKey[]) {
  return keys.map(({ publicKey }) => publicKey.fingerprint);
}

function foreign(folder: string): KrmhubError {
  return new KrmhubError(
    'unavailable',
    `the keys in ${folder} are not those of the registry in the database`,
    {
      hint: 'Replace the folder by a copy of the keys folder of another process of this registry, or of a backup.',
    },
  );
}

function missing(folder: string): KrmhubError {
  return new KrmhubError('unavailable', `the registry has a key, but its keys are missing in ${folder}`, {
    hint: 'Copy the folder from another process of this registry, or from a backup. If the keys are lost, create a new key with `krmhub key rotate`. Users must then pin the new key.',
  });
}
