import { sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, text, type Work } from '../../sql/statement.js';
import type { UploadRecord, UploadStore } from '../../upload-store.js';
import { uploads } from '../schema/uploads.js';

const counts = text<{ all: number; own: number }>(
  `SELECT count(*) AS "all", coalesce(sum(CASE WHEN token = :token THEN 1 ELSE 0 END), 0) AS own FROM oci_upload`,
);
const add = change((db) =>
  db.insert(uploads).values({
    id: sql.placeholder('id'),
    repository: sql.placeholder('repository'),
    token: sql.placeholder('token'),
    size: 0,
    movedAt: sql.placeholder('at'),
    owner: sql.placeholder('owner'),
  }),
);
/** A piece with this name, which no object has, says where bytes begin that are only reserved. */
const RESERVED = '';
const STORED = `coalesce((SELECT start FROM oci_upload_piece WHERE upload = oci_upload.id AND name = '${RESERVED}'), size)`;
const byId = text<UploadRecord & { owner: string | null; movedAt: string }>(
  `SELECT id, repository, token, ${STORED} AS size, owner, moved_at AS "movedAt" FROM oci_upload WHERE id = :id`,
);
const pieces = text<{ name: string }>('SELECT name FROM oci_upload_piece WHERE upload = :id ORDER BY start');
const reserve = text(
  `INSERT INTO oci_upload_piece (upload, start, name)
   SELECT id, size, '${RESERVED}' FROM oci_upload WHERE id = :id AND ${STORED} = size
   ON CONFLICT DO NOTHING`,
);
const unreserve = text(`DELETE FROM oci_upload_piece WHERE upload = :id AND name = '${RESERVED}'`);
const take = text(`UPDATE oci_upload SET owner = :owner, moved_at = :at, size = ${STORED} WHERE id = :id`);
const renew = text('UPDATE oci_upload SET moved_at = :at WHERE id = :id AND owner = :owner');
const grow = text(
  'UPDATE oci_upload SET moved_at = :at, size = size + :size WHERE id = :id AND owner = :owner',
);
const addPiece = text(
  `INSERT INTO oci_upload_piece (upload, start, name)
   SELECT id, size, :name FROM oci_upload WHERE id = :id AND owner = :owner`,
);
const release = text(
  `UPDATE oci_upload SET owner = NULL, moved_at = :at, size = ${STORED} WHERE id = :id AND owner = :owner`,
);
const remove = text('DELETE FROM oci_upload WHERE id = :id');
const idle = text<{ id: string }>('SELECT id FROM oci_upload WHERE moved_at < :before');
const open = text<{ id: string }>('SELECT id FROM oci_upload');
const bytes = text<{ bytes: number }>(
  'SELECT coalesce(sum(size), 0) AS bytes FROM oci_upload WHERE repository = :repository AND id <> :id',
);

function* end(id: string): Work<string[]> {
  const names = yield* pieceNames(id);
  yield* remove.run({ id });
  return names.filter((name) => name !== RESERVED);
}

function* pieceNames(id: string): Work<string[]> {
  return (yield* pieces.all({ id })).map(({ name }) => name);
}

export function uploadRows({ read, write }: Sql): UploadStore {
  return {
    addUpload: ({ owner = null as string | null, ...upload }, { max, maxOfToken }) =>
      write(function* () {
        const { all, own } = (yield* counts.first({ token: upload.token }))!;
        if (all >= max) return 'too-many';
        if (own >= maxOfToken) return 'too-many-of-token';
        yield* add.run({ ...upload, owner });
        return 'added';
      }),
    upload: (id) =>
      read(function* () {
        const row = yield* byId.first({ id });
        return row && toRecord(row);
      }),
    takeUpload: ({ id, owner, at }, lostBefore) =>
      write(function* () {
        const row = yield* byId.first({ id });
        if (row === undefined) return undefined;
        if (row.owner !== null && row.movedAt >= lostBefore) return 'busy';
        yield* take.run({ id, owner, at });
        const names = yield* pieceNames(id);
        if (!names.includes(RESERVED)) return { upload: toRecord(row), pieces: names };
        yield* unreserve.run({ id });
        return { upload: toRecord(row), pieces: names.filter((name) => name !== RESERVED) };
      }),
    renewUpload: (owner) =>
      write(function* () {
        return (yield* renew.run({ ...owner })) > 0;
      }),
    addUploadPiece: ({ id, owner, at }, { name, size }) =>
      write(function* () {
        if ((yield* addPiece.run({ id, owner, name })) === 0) return false;
        yield* grow.run({ id, owner, at, size });
        return true;
      }),
    reserveUploadBytes: ({ id, owner, at }, size) =>
      write(function* () {
        const row = yield* byId.first({ id });
        if (row?.owner !== owner) return false;
        yield* reserve.run({ id });
        yield* grow.run({ id, owner, at, size });
        return true;
      }),
    releaseUpload: (owner) =>
      write(function* () {
        yield* release.run({ ...owner });
      }),
    endUpload: ({ id, owner }) =>
      write(function* () {
        const row = yield* byId.first({ id });
        return row?.owner === owner ? yield* end(id) : undefined;
      }),
    endIdleUploads: (before) =>
      write(function* () {
        const ids = yield* idle.all({ before });
        const ended: string[] = [];
        for (const { id } of ids) ended.push(...(yield* end(id)));
        return { ended: ids.length, pieces: ended };
      }),
    openUploads: () =>
      read(function* () {
        return new Set((yield* open.all()).map(({ id }) => id));
      }),
    bytesOfOtherUploads: ({ id, repository }) =>
      read(function* () {
        return (yield* bytes.first({ id, repository }))!.bytes;
      }),
  };
}

function toRecord({ id, repository, token, size }: UploadRecord): UploadRecord {
  return { id, repository, token, size };
}
