import type { MissingArtifacts } from '../../artifacts/artifact-store.js';
import type { Sql } from '../../sql/sql.js';
import { text, together } from '../../sql/statement.js';
import { artifactChanges } from './artifact-changes.js';

const page = text<{ id: number; group: string; kind: string; release: string; known: number }>(
  `SELECT release.id, group_name AS "group", kind, release.release,
     (SELECT count(*) FROM oci_tag
      WHERE repository = 'functions/' || group_name || '/' || kind_folded AND tag = release.release) AS known
   FROM release JOIN function ON function.id = function_id WHERE release.id > :after ORDER BY release.id LIMIT :limit`,
);

/** Adds artifacts to releases that an older program stored without them. */
export function missingArtifacts({ read, write }: Sql): MissingArtifacts {
  return {
    releasesWithoutArtifact: ({ after, limit }) =>
      read(function* () {
        const rows = yield* page.all({ after, limit });
        return {
          without: rows.flatMap(({ id: _id, known, ...name }) => (known > 0 ? [] : [name])),
          last: rows.length < limit ? undefined : rows.at(-1)?.id,
        };
      }),
    putArtifact: (artifact, { at, by }) =>
      write(function* () {
        yield* together(yield* artifactChanges([{ ...artifact, at, by, isServed: true }]));
      }),
  };
}
