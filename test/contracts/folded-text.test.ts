import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { DROP_NEWER_TABLES } from '../../apps/registry/src/testing/newer-tables.js';
import { OLD_NAMES } from '../older-folder.js';
import { changeOf } from './sample-records.js';

it('folds the text of functions that were stored before', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-folded-'));
  const file = path.join(folder, 'registry.db');
  const store = await openSqliteStore(file);
  const publisher = 'Straßenamt';
  await store.commitFunction(
    changeOf({ kind: 'Resize', description: 'Setzt die Größe.', tags: ['a', 'ﬁt'], publisher }),
  );
  await store.commitFunction(changeOf({ kind: 'set-node-labels', description: 'Plain.' }));
  await store.commitFunction(changeOf({ kind: 'Other', description: 'Plain.' }));
  await store.close();

  const earlier = openConnection(file);
  earlier.client.exec(`DELETE FROM function_text WHERE rowid <= 2;
    INSERT INTO function_text (rowid, kind, tags, description, group_name, publisher)
    VALUES (1, 'Resize', 'a ﬁt', 'Setzt die Größe.', 'example.com', 'Straßenamt'),
      (2, 'set node labels', '', 'Plain.', 'example.com', 'Example Co');
    ${OLD_NAMES}
    DROP TABLE takedown_pin; DROP TABLE release_pin;
    ALTER TABLE takedown DROP COLUMN scripts; ALTER TABLE function DROP COLUMN published; ${DROP_NEWER_TABLES};
    DELETE FROM __drizzle_migrations WHERE created_at >= 1769299200000`);
  earlier.close();

  const later = await openSqliteStore(file);
  const kinds = async (text: string) =>
    (await later.search({ text, limit: 9 })).items.map(({ kind }) => kind);
  for (const text of ['GRÖSSE', 'größe', 'strassenamt', 'fit', 'resize', 'example.com setzt'])
    expect(await kinds(text), text).toEqual(['Resize']);
  expect(await kinds('setnode')).toEqual(['set-node-labels']);
  expect((await kinds('plain')).sort()).toEqual(['Other', 'set-node-labels']);
  await later.close();
  await rm(folder, { recursive: true, force: true });
});
