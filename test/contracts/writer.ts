import path from 'node:path';
import { openBlobFolder } from '../../apps/registry/src/store/blobs/folder.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { changeOf } from './sample-records.js';

/**
 * Publishes in the folder of its last argument until it is killed, and prints each release once it is
 * stored.
 */
const folder = process.argv.at(-1)!;
const store = await openSqliteStore(path.join(folder, 'registry.db'));
const blobs = await openBlobFolder(path.join(folder, 'blobs'));
for (let at = await store.lastEvent(); ; at += 1) {
  const digest = await blobs.put(Buffer.from(`definition ${at}`));
  const change = changeOf({ kind: `Fn${at}` });
  change.release.digest = digest;
  await store.commitFunction(change);
  process.stdout.write(`Fn${at} ${digest}\n`);
}
