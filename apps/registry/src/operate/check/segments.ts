import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { SnapshotRecord } from '@krmhub/catalog';
import { CatalogDocuments } from '../../catalogs/segments/catalog-documents.js';
import { text } from '../../store/sql/statement.js';
import { type Check, damage, information } from './finding.js';

/** The second kind differs only in its head, which is not stored. */
const RENDITIONS = ['catalog.yaml', 'catalog.json'] as const;

/** A build reads segments again that it remembers only after a restart, and then replaces all if one is damaged. */
const BUILT_AGAIN =
  'Restart the registry, then publish to the catalog: its next snapshot replaces damaged segments. If damage stays, restore a backup.';

/** Checks that the segments of each newest snapshot have its documents, and that every segment is in a catalog. */
export const checkSegments: Check = async function* ({ store, read, now, progress }) {
  const documents = new CatalogDocuments({ store, maxCacheBytes: 0 });
  for (const { name, newest } of await store.catalogs()) {
    // The next start compresses a snapshot of an older version.
    if (newest?.documents === undefined || newest.withdrawn !== undefined) continue;
    for (const rendition of RENDITIONS) {
      const digest = await digestOfGzip(documents, newest, rendition).catch((error: Error) => error.message);
      if (digest === newest.digests[rendition]) continue;
      const subject = `segments of ${rendition} of catalog ${name}`;
      yield damage(subject, `their content is ${digest}, expected ${newest.digests[rendition]}`, BUILT_AGAIN);
    }
    await progress(`segments of catalog ${name} checked`);
  }
  // A running build stores segments before it names them.
  if ((await read(() => unused.first()))!.count === 0) return;
  const left = (await now(() => unused.first()))!.count;
  if (left > 0)
    yield information('segments', `${left} segments that no catalog has, which the next start removes`);
};

const unused = text<{ count: number }>(
  'SELECT count(*) AS count FROM segment WHERE digest NOT IN (SELECT segment FROM catalog_segment)',
);

async function digestOfGzip(
  documents: CatalogDocuments,
  snapshot: SnapshotRecord,
  rendition: (typeof RENDITIONS)[number],
): Promise<string> {
  const { coding, body } = await documents.find(snapshot, rendition, 'gzip');
  if (coding !== 'gzip') return 'missing';
  const hash = createHash('sha256');
  const pieces = body instanceof Uint8Array ? [body] : body.pieces;
  await pipeline(Readable.from(pieces, { objectMode: false }), createGunzip(), async (plain) => {
    for await (const piece of plain) hash.update(piece as Buffer);
  });
  return `sha256:${hash.digest('hex')}`;
}
