import { upstreamSearchDocument } from '@krmhub/catalog';
import { type Digest, type FunctionDefinition, KrmhubError } from '@krmhub/schema';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { displayedEntry } from '../snapshots/served-entries.js';
import { searchRowRemover, searchRowWriter } from './rows.js';

/** Changes that searches can still read one by one; after more, they read everything again. */
export const MAX_REMEMBERED_CHANGES = 2_000;

interface UpstreamRow {
  id: number;
  kind: string;
  entry: Digest;
}

/** Rows of functions that only upstream catalogs have. Call everything in a transaction. */
export interface UpstreamRows {
  /** Updates the row of a name from the newest snapshots. A function of this registry has no row. */
  refresh(group: string, kind: string): void;
  /** Hands the name over to this registry. Returns the id of its full-text document; undefined without a row. */
  release(group: string, kind: string): number | undefined;
  /** Returns an unused id. */
  newId(): number;
}

export function upstreamRows(connection: Connection): UpstreamRows {
  const { client } = connection;
  const shown = displayedEntry(connection);
  const writeText = searchRowWriter(connection);
  const removeText = searchRowRemover(connection);
  const rowOf = prepared(() =>
    client.prepare<[string, string], UpstreamRow>(
      'SELECT id, kind, entry FROM upstream_function WHERE group_name = ? AND kind_folded = ?',
    ),
  );
  const isOurs = prepared(() =>
    client.prepare<[string, string]>('SELECT 1 FROM function WHERE group_name = ? AND kind_folded = ?'),
  );
  const entryJson = prepared(() =>
    client.prepare<[Digest], string>('SELECT json FROM entry WHERE digest = ?').pluck(),
  );
  const remove = prepared(() => client.prepare<[number]>('DELETE FROM upstream_function WHERE id = ?'));
  const put = prepared(() =>
    client.prepare(
      `INSERT OR REPLACE INTO upstream_function (id, group_name, kind, kind_folded, description, publisher,
       versions, tags, runtimes, licenses, network, storage, pinned, images, entry)
     VALUES (:id, :group, :kind, :kindFolded, :description, :publisher,
       :versions, :tags, :runtimes, :licenses, :network, :storage, :pinned, :images, :entry)`,
    ),
  );
  const lastId = prepared(() =>
    client
      .prepare<[], number>(
        `SELECT max(coalesce((SELECT max(id) FROM function), 0), coalesce((SELECT max(id) FROM upstream_function), 0))`,
      )
      .pluck(),
  );
  const newId = () => lastId.get()! + 1;
  const addChange = prepared(() =>
    client.prepare<[string, string]>('INSERT INTO upstream_change (group_name, kind) VALUES (?, ?)'),
  );
  const deleteChanges = prepared(() =>
    client.prepare<[number | bigint]>('DELETE FROM upstream_change WHERE sequence <= ?'),
  );
  const recordChange = (group: string, kind: string): void => {
    const { lastInsertRowid } = addChange.run(group, kind);
    deleteChanges.run(Number(lastInsertRowid) - MAX_REMEMBERED_CHANGES);
  };

  const documentOf = (entry: Digest) => {
    const json = entryJson.get(entry);
    if (json === undefined) throw new KrmhubError('internal', `rendered entry ${entry} is missing`);
    return upstreamSearchDocument(JSON.parse(json) as FunctionDefinition);
  };

  return {
    refresh(group, kind) {
      const kindFolded = kind.toLowerCase();
      const row = rowOf.get(group, kindFolded);
      const entry = isOurs.get(group, kindFolded) === undefined ? shown(group, kindFolded) : undefined;
      if (row?.entry === entry) return;
      if (row !== undefined) recordChange(group, row.kind);
      if (entry === undefined) {
        removeText(row!.id);
        remove.run(row!.id);
        return;
      }
      const document = documentOf(entry);
      const id = row?.id ?? newId();
      put.run({ ...upstreamColumns(document), id, group, kindFolded, entry });
      writeText(id, document, row === undefined);
      if (row?.kind !== document.kind) recordChange(group, document.kind);
    },
    release(group, kind) {
      const row = rowOf.get(group, kind.toLowerCase());
      if (row === undefined) return undefined;
      recordChange(group, row.kind);
      remove.run(row.id);
      return row.id;
    },
    newId,
  };
}

/** Returns the columns that come from the entry. */
export function upstreamColumns(document: ReturnType<typeof upstreamSearchDocument>) {
  const {
    kind,
    description,
    publisher,
    versions,
    tags,
    runtimes,
    licenses,
    network,
    storage,
    pinned,
    images,
  } = document;
  return {
    kind,
    description,
    publisher,
    versions: JSON.stringify(versions),
    tags: JSON.stringify(tags),
    runtimes: JSON.stringify(runtimes),
    licenses: JSON.stringify(licenses),
    network: Number(network),
    storage: Number(storage),
    pinned: Number(pinned),
    images: JSON.stringify(images),
  };
}
