import type { IndexedDocument, SearchIndex } from '../../search/search-index.js';
import type { Sql } from '../../sql/sql.js';
import { text } from '../../sql/statement.js';
import type { WordlessRelease, WordStore } from '../../word-store.js';

const page = text<WordlessRelease>(
  `SELECT release.id, group_name AS "group", kind, release.release, release.digest, release.readme
   FROM release JOIN function ON function.id = function_id
   WHERE release.id > :after AND NOT EXISTS (SELECT 1 FROM release_words WHERE release_words.release = release.id)
   ORDER BY release.id LIMIT :limit`,
);
// After a takedown, another release can have the number.
const put = text(
  `INSERT INTO release_words (release, fields, readme) SELECT release.id, :fields, :readme
   FROM release JOIN function ON function.id = function_id
   WHERE release.id = :id AND group_name = :group AND kind = :kind
     AND release.release = :release AND release.digest = :digest
   ON CONFLICT DO NOTHING`,
);
const displayed = text<Omit<IndexedDocument, 'tags'> & { id: number; tags: string }>(
  `SELECT id, group_name AS "group", kind, tags, description, publisher, release FROM function
   WHERE group_name = :group AND kind = :kind AND release = :release`,
);

/** Adds words to releases that an older program stored without them. */
export function missingWords({ read, write }: Sql, search: SearchIndex): WordStore {
  return {
    releasesWithoutWords: ({ after, limit }) => read(() => page.all({ after, limit })),
    putReleaseWords: (all) =>
      write(function* () {
        for (const { of, words } of all) {
          yield* put.run({ ...of, ...words });
          const shown = yield* displayed.first({ ...of });
          if (shown !== undefined)
            yield* search.put(shown.id, { ...shown, tags: JSON.parse(shown.tags) as string[] }, false);
        }
      }),
  };
}
