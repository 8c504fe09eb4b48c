import type { BlobStore, CatalogStore, SnapshotRecord } from '@krmhub/catalog';
import { type Digest, SNAPSHOT_FORMS, type SnapshotForm } from '@krmhub/schema';
import { type AssembledForm, assembleForm, readEntries } from './assemble-form.js';
import { compress } from './compress.js';
import { CODINGS, type Coding } from './content-coding.js';
import { FormCache } from './form-cache.js';
import { SERVER_LIMITS } from './limits.js';

type StoredForm = { digest: Digest; coding: Coding; blob: Digest };

/**
 * The forms of snapshots as bytes in every coding. They are made once, when the snapshot is cut, and stored;
 * those of old snapshots are forgotten, and made again from the stored entries when somebody asks for one.
 */
export class SnapshotForms {
  readonly #store: CatalogStore;
  readonly #blobs: BlobStore;
  readonly #cache: FormCache;
  readonly #building = new Map<string, Promise<Uint8Array>>();

  constructor(parts: { store: CatalogStore; blobs: BlobStore; maxCacheBytes?: number }) {
    this.#store = parts.store;
    this.#blobs = parts.blobs;
    this.#cache = new FormCache(parts.maxCacheBytes ?? SERVER_LIMITS.maxFormCacheBytes);
  }

  /** Stores a new snapshot's forms in every coding; they are durable when it resolves. */
  async store(forms: readonly AssembledForm[]): Promise<void> {
    const stored: StoredForm[] = [];
    for (const form of forms) {
      const coded = await Promise.all(
        CODINGS.map(async (coding) => {
          const bytes = await compress(form.bytes, coding);
          return { coding, bytes, blob: await this.#blobs.put(bytes) };
        }),
      );
      for (const { coding, bytes, blob } of coded) {
        stored.push({ digest: form.digest, coding, blob });
        this.#cache.set(cacheName(form.digest, coding), bytes);
      }
    }
    await this.#store.rememberForms(stored);
  }

  /** Bytes of a form in a coding; rejects where they can be neither read nor made again as they were. */
  async bytes(snapshot: SnapshotRecord, form: SnapshotForm, coding: Coding): Promise<Uint8Array> {
    const digest = snapshot.digests[form];
    const name = cacheName(digest, coding);
    const cached = this.#cache.get(name);
    if (cached !== undefined) return cached;
    // Everybody who asks meanwhile shares the work.
    const running = this.#building.get(name);
    if (running !== undefined) return running;
    const building = this.#readOrMake(snapshot, form, coding);
    this.#building.set(name, building);
    try {
      const bytes = await building;
      this.#cache.set(name, bytes);
      return bytes;
    } finally {
      this.#building.delete(name);
    }
  }

  /** Bytes of a form in a coding, where they are in memory. */
  inMemory(snapshot: SnapshotRecord, form: SnapshotForm, coding: Coding): Uint8Array | undefined {
    return this.#cache.get(cacheName(snapshot.digests[form], coding));
  }

  /** Length of a form in a coding, where the form is in memory. */
  length(snapshot: SnapshotRecord, form: SnapshotForm, coding: Coding): number | undefined {
    return this.#cache.length(cacheName(snapshot.digests[form], coding));
  }

  /** Frees what the forms of old snapshots take, but for what the snapshots that are kept share with them. */
  async forget(old: readonly SnapshotRecord[], kept: readonly SnapshotRecord[]): Promise<void> {
    const needed = new Set(kept.flatMap((snapshot) => Object.values(snapshot.digests)));
    const digests = old
      .flatMap((snapshot) => Object.values(snapshot.digests))
      .filter((one) => !needed.has(one));
    if (digests.length === 0) return;
    for (const blob of await this.#store.forgetForms([...new Set(digests)])) await this.#blobs.delete(blob);
  }

  async #readOrMake(snapshot: SnapshotRecord, form: SnapshotForm, coding: Coding): Promise<Uint8Array> {
    const digest = snapshot.digests[form];
    const blob = await this.#store.storedForm(digest, coding);
    // A form that is forgotten at this moment may be named and its blob be gone.
    const stored = blob === undefined ? undefined : await this.#blobs.get(blob);
    if (stored !== undefined) return stored;
    const bytes =
      coding === 'identity'
        ? await this.#assembleAgain(snapshot, form)
        : await compress(await this.bytes(snapshot, form, 'identity'), coding);
    await this.#store.rememberForms([{ digest, coding, blob: await this.#blobs.put(bytes) }]);
    return bytes;
  }

  async #assembleAgain(snapshot: SnapshotRecord, form: SnapshotForm): Promise<Uint8Array> {
    const places = await this.#store.snapshotFunctions(snapshot.catalog, snapshot.serial);
    const digests = places.flatMap(({ entry }) => (entry === undefined ? [] : [entry]));
    const entries = await readEntries(this.#store, digests);
    const { bytes, digest } = await assembleForm(form, catalogHeader(snapshot), entries);
    if (digest !== snapshot.digests[form]) {
      throw new Error(
        `${form} of snapshot ${snapshot.serial} of ${snapshot.catalog} was ${snapshot.digests[form]}, and made again is ${digest}`,
      );
    }
    return bytes;
  }
}

/** What stands at the head of every form of a snapshot. */
export function catalogHeader({ catalog, labels }: Pick<SnapshotRecord, 'catalog' | 'labels'>): {
  name: string;
  labels?: Record<string, string>;
} {
  return { name: catalog, ...(labels === undefined ? {} : { labels }) };
}

/** The form of a catalog that says it is of this kind, in this syntax. */
export function formOf(kind: 'Catalog' | 'KRMFunctionCatalog', syntax: 'yaml' | 'json'): SnapshotForm {
  const form = SNAPSHOT_FORMS.find((name) => name === `${kind.toLowerCase()}.${syntax}`);
  if (form === undefined) throw new RangeError(`${kind} has no form ${syntax}`);
  return form;
}

function cacheName(digest: Digest, coding: Coding): string {
  return `${digest}-${coding}`;
}
