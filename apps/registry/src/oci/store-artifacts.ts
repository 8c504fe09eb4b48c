import { setImmediate } from 'node:timers/promises';
import type { CatalogReader, FunctionReader, ReadableBlobs } from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import type { Log } from '../log.js';
import type { ArtifactStore } from '../store/artifacts/artifact-store.js';
import { releaseArtifact, snapshotArtifact } from '../store/artifacts/release-artifact.js';
import { catalogRepository } from '../store/artifacts/repositories.js';
import type { DocumentSource } from '../store/artifacts/stored-blob.js';
import type { SettingStore } from '../store/setting-store.js';

interface Deps {
  store: FunctionReader & CatalogReader & ArtifactStore & ManifestReader & SettingStore;
  blobs: ReadableBlobs;
  documents: DocumentSource;
  log: Log;
}

/** Releases per batch; other work runs between batches. */
const BATCH = 500;

/** Value of the setting `release-artifacts` once every release has one: later starts do not look for others. */
const COMPLETE = 'complete';

/**
 * Stores missing artifacts of releases and of the newest snapshot of each catalog: older versions did not store them.
 * Older snapshots get none. Once all releases have one, this looks only at the snapshots.
 */
export async function storeMissingArtifacts({ store, blobs, documents, log }: Deps): Promise<void> {
  let made = 0;
  const known = await store.setting('release-artifacts');
  let isComplete = true;
  const make = async (name: { group: string; kind: string; release: string }): Promise<void> => {
    const found = await store.release(name.group, name.kind, name.release);
    if (found === undefined) return;
    const { readme, publishedAt, publishedBy } = found;
    const size = readme === undefined ? undefined : (await blobs.read(readme))?.size;
    const file = readme === undefined || size === undefined ? undefined : { digest: readme, size };
    await store.putArtifact(releaseArtifact(found, file), { at: publishedAt, by: publishedBy });
    made += 1;
  };
  // A failure here does not stop the registry from serving the rest.
  const warn = (error: unknown, name: object) => {
    isComplete = false;
    log.error({ err: error, ...name }, 'cannot create the artifact of a release');
  };
  for (let after: number | undefined = known === COMPLETE ? undefined : 0; after !== undefined; ) {
    const { without, last } = await store.releasesWithoutArtifact({ after, limit: BATCH });
    // Concurrently, so that they share a transaction.
    await Promise.all(without.map((name) => make(name).catch((error: unknown) => warn(error, name))));
    after = last;
    await setImmediate();
  }
  if (isComplete && known !== COMPLETE) await store.changeSetting('release-artifacts', known, COMPLETE);
  for (const { name, newest } of await store.catalogs()) {
    if (newest === undefined || newest.withdrawn !== undefined) continue;
    if ((await store.manifestDescriptor(catalogRepository(name), String(newest.serial))) !== undefined)
      continue;
    try {
      const { body } = await documents.find(newest, 'catalog.yaml', 'identity');
      const size = body instanceof Uint8Array ? body.byteLength : body.size;
      await store.putArtifact(snapshotArtifact(newest, size), { at: newest.createdAt, by: 'krmhub' });
      made += 1;
    } catch (error) {
      log.error({ err: error, catalog: name }, 'cannot create the artifact of a snapshot');
    }
  }
  if (made > 0) log.info({ artifacts: made }, 'created missing artifacts of releases and snapshots');
}
