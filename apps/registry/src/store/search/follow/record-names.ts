import { type ReleaseWords, releaseWords, upstreamSearchDocument } from '@krmhub/catalog';
import { type Digest, type EntryVersion, type FunctionDefinition, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { inList, text, type Work } from '../../sql/statement.js';
import { DOCUMENT_FIELDS, type DocumentRow, encodeEntry } from '../document-rows.js';
import { IN_NEWEST_SNAPSHOT } from '../rows.js';

/** What the registry says of names now: reads of its database, whichever it is. */

/** A name, whatever the case of its kind. */
export interface FoldedName {
  group: string;
  /** Lower case. */
  kindFolded: string;
}

/** What search displays of a function. */
export interface IndexRow extends DocumentRow {
  kind: string;
  /** JSON. */
  replacement: string | null;
  /** 1 if the words of the displayed release are known: the words of a release never change. */
  words: 0 | 1;
  /** Digest of the displayed entry; null for a function of the registry. */
  entry: Digest | null;
}

/** A row with its words, which only the full-text index has. */
export interface WordedRow {
  row: IndexRow;
  words: ReleaseWords | undefined;
}

/** The entry of a function in the newest snapshot of a catalog. */
export interface Place {
  catalog: string;
  kind: string;
  entry: Digest;
  /** JSON. */
  selection: string;
}

export interface RecordedName extends FoldedName {
  /** What search displays; undefined for a name that it must not know; `unchanged` for the known entry. */
  row: WordedRow | 'unchanged' | undefined;
  /** The displayed catalog first. */
  places: Place[];
}

/** `default` comes last: a catalog that someone composed takes precedence. */
export const PLACE_ORDER = `ORDER BY place.catalog = 'default', place.catalog, place.kind`;

/** Entries that are read at a time: each has up to a megabyte. */
const ENTRIES_AT_A_TIME = 20;

const wantedNames = (source: (wanted: string) => string) => ({
  sqlite: source('json_each(:wanted) AS wanted'),
  postgres: source('json_array_elements(:wanted::json) AS wanted'),
});

type FunctionRow = Omit<IndexRow, 'entry' | 'replacement' | 'words'> &
  FoldedName & { deprecation: string | null; fields: string | null; readme: string | null };

const selectFunctions = text<FunctionRow>(
  wantedNames(
    (wanted) => `SELECT function.group_name AS "group", function.kind_folded AS "kindFolded", function.kind,
       ${DOCUMENT_FIELDS.map((field) => `function.${field}`).join(', ')}, release.deprecated AS deprecation,
       release_words.fields, release_words.readme
     FROM ${wanted}
     JOIN function ON function.group_name = wanted.value ->> 0 AND function.kind_folded = wanted.value ->> 1
     LEFT JOIN release ON release.function_id = function.id AND release.release = function.release
     LEFT JOIN release_words ON release_words.release = release.id`,
  ),
);
const selectPlaces = text<Place & FoldedName>(
  wantedNames(
    (
      wanted,
    ) => `SELECT place.group_name AS "group", lower(place.kind) AS "kindFolded", place.catalog, place.kind,
       place.entry, place.selection
     FROM ${wanted}
     JOIN catalog_function AS place ON place.group_name = wanted.value ->> 0 AND lower(place.kind) = wanted.value ->> 1
     WHERE place.entry IS NOT NULL AND ${IN_NEWEST_SNAPSHOT}
     ${PLACE_ORDER}`,
  ),
);
const selectEntries = text<{ digest: Digest; json: string }>(
  inList((digests) => `SELECT digest, json FROM entry WHERE digest IN ${digests}`, ':digests'),
);

/**
 * Returns what the registry says of names, each given once. An entry is not read if it is the known one of its name.
 */
export function* recordedNames(
  names: readonly FoldedName[],
  knownEntry: (name: FoldedName) => Digest | null | undefined,
): Work<RecordedName[]> {
  if (names.length === 0) return [];
  const wanted = JSON.stringify(names.map(({ group, kindFolded }) => [group, kindFolded]));
  const functions = new Map<string, WordedRow>();
  for (const row of yield* selectFunctions.all({ wanted })) functions.set(foldedKey(row), ofRegistry(row));
  const places = new Map<string, { all: Place[]; displayed?: Digest }>();
  for (const { group, kindFolded, ...place } of yield* selectPlaces.all({ wanted })) {
    const key = foldedKey({ group, kindFolded });
    const known = places.get(key) ?? { all: [] };
    places.set(key, known);
    const versions = readVersions(place.selection);
    if (versions.some(({ release }) => release === undefined)) known.displayed ??= place.entry;
    known.all.push({ ...place, selection: JSON.stringify({ versions }) });
  }
  const unread = new Set<Digest>();
  const recorded = names.map((name) => {
    const key = foldedKey(name);
    const { all = [], displayed } = places.get(key) ?? {};
    const row = functions.get(key);
    if (row !== undefined || displayed === undefined) return { ...name, row, places: all };
    if (knownEntry(name) === displayed) return { ...name, row: 'unchanged' as const, places: all };
    unread.add(displayed);
    return { ...name, row: displayed, places: all };
  });
  const entries = yield* entryRows([...unread]);
  return recorded.map(({ row, ...name }): RecordedName => {
    if (typeof row !== 'string' || row === 'unchanged') return { ...name, row };
    const read = entries.get(row);
    if (read === undefined) throw new KrmhubError('internal', `rendered entry ${row} is missing`);
    return { ...name, row: read };
  });
}

function* entryRows(digests: readonly Digest[]): Work<Map<Digest, WordedRow>> {
  const rows = new Map<Digest, WordedRow>();
  for (let at = 0; at < digests.length; at += ENTRIES_AT_A_TIME) {
    const some = JSON.stringify(digests.slice(at, at + ENTRIES_AT_A_TIME));
    for (const { digest, json } of yield* selectEntries.all({ digests: some })) {
      const definition = JSON.parse(json) as FunctionDefinition;
      const document = upstreamSearchDocument(definition);
      const row: IndexRow = {
        ...encodeEntry(document),
        kind: document.kind,
        release: null,
        yanked: 0,
        deprecated: 0,
        signatures: '[]',
        attestations: '[]',
        published: '',
        replacement: null,
        words: 1,
        entry: digest,
      };
      rows.set(digest, { row, words: releaseWords(definition) });
    }
  }
  return rows;
}

function ofRegistry({
  group: _,
  kindFolded: __,
  deprecation,
  fields,
  readme,
  ...row
}: FunctionRow): WordedRow {
  const replacement =
    deprecation === null ? undefined : (JSON.parse(deprecation) as { replacement?: unknown }).replacement;
  const words = fields === null || readme === null ? undefined : { fields, readme };
  return {
    row: {
      ...row,
      replacement: replacement === undefined ? null : JSON.stringify(replacement),
      words: words === undefined ? 0 : 1,
      entry: null,
    },
    words,
  };
}

/** Returns what search needs to know of the versions of an entry. */
function readVersions(selection: string): Pick<EntryVersion, 'source' | 'release'>[] {
  const { versions } = JSON.parse(selection) as { versions: EntryVersion[] };
  return versions.map(({ source, release }) => ({ source, ...defined({ release }) }));
}

export function foldedKey({ group, kindFolded }: FoldedName): string {
  return `${group}/${kindFolded}`;
}
