import { setImmediate } from 'node:timers/promises';
import type { BlobStore, FunctionStore, SnapshotStore } from '@krmhub/catalog';
import type { ManifestStore } from '@krmhub/oci';
import type { ArtifactStore } from '../artifacts/artifact-store.js';
import { releaseArtifact, snapshotArtifact } from '../artifacts/release-artifact.js';
import { catalogRepository } from '../artifacts/repositories.js';
import type { RenditionSource } from '../artifacts/stored-blob.js';
import type { Log } from '../log.js';

interface Deps {
  store: Pick<FunctionStore, 'release'> &
    Pick<SnapshotStore, 'catalogs'> &
    Pick<ArtifactStore, 'releasesWithoutArtifact' | 'putArtifact'> &
    Pick<ManifestStore, 'manifestDescriptor'>;
  blobs: Pick<BlobStore, 'read'>;
  renditions: RenditionSource;
  log: Log;
}

/** Releases that are looked at between other work. */
const BATCH = 500;

/**
 * For every start: releases, and the newest snapshot of every catalog, have their artifacts, which a program before this
 * one did not make. Older snapshots of that time have none.
 */
export async function storeMissingArtifacts({ store, blobs, renditions: forms, log }: Deps): Promise<void> {
  let made = 0;
  const make = async (name: { group: string; kind: string; release: string }): Promise<void> => {
    const found = await store.release(name.group, name.kind, name.release);
    if (found === undefined) return;
    const { readme, publishedAt, publishedBy } = found;
    const size = readme === undefined ? undefined : (await blobs.read(readme))?.size;
    const file = readme === undefined || size === undefined ? undefined : { digest: readme, size };
    await store.putArtifact(releaseArtifact(found, file), { at: publishedAt, by: publishedBy });
    made += 1;
  };
  // What cannot be made is no reason not to serve everything else.
  const tell = (error: unknown, name: object) =>
    log.error({ err: error, ...name }, 'cannot create the artifact of a release');
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { without, last } = await store.releasesWithoutArtifact({ after, limit: BATCH });
    // At once, so that they share a transaction.
    await Promise.all(without.map((name) => make(name).catch((error: unknown) => tell(error, name))));
    after = last;
    await setImmediate();
  }
  for (const { name, newest } of await store.catalogs()) {
    if (newest === undefined || newest.withdrawn !== undefined) continue;
    if ((await store.manifestDescriptor(catalogRepository(name), String(newest.serial))) !== undefined)
      continue;
    try {
      const { body } = await forms.find(newest, 'catalog.yaml', 'identity');
      const size = body instanceof Uint8Array ? body.byteLength : body.size;
      await store.putArtifact(snapshotArtifact(newest, size), { at: newest.createdAt, by: 'krmhub' });
      made += 1;
    } catch (error) {
      log.error({ err: error, catalog: name }, 'cannot create the artifact of a snapshot');
    }
  }
  if (made > 0) log.info({ artifacts: made }, 'created missing artifacts of releases and snapshots');
}
