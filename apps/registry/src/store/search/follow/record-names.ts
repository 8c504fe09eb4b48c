import { type ReleaseWords, releaseWords, upstreamSearchDocument } from '@krmhub/catalog';
import { type Digest, type EntryVersion, type FunctionDefinition, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { inList, text, type Work } from '../../sql/statement.js';
import { DOCUMENT_FIELDS, type DocumentRow, encodeEntry } from '../document-rows.js';
import { IN_NEWEST_SNAPSHOT, PLACE_ORDER } from '../rows.js';

/** What the registry says of names now: reads of its database, whichever it is. */

/** A name, whatever the case of its kind. */
export interface FoldedName {
  group: string;
  /** Lower case. */
  kindFolded: string;
}

/** What search has of a function, or of an entry of an upstream function. */
export interface IndexRow extends DocumentRow {
  kind: string;
  /** JSON. */
  replacement: string | null;
  /** 1 if the words of the displayed release are known: the words of a release never change. */
  words: 0 | 1;
  /** Digest of the entry; null for a function of the registry. */
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
  /**
   * What search displays: a function of the registry, or each different entry of an upstream function; nothing for a name
   * that it must not know. Of an entry that the index has, only the digest.
   */
  rows: (WordedRow | Digest)[];
  /** The displayed catalog first. */
  places: Place[];
}

/** Entries that are read at a time: each has up to a megabyte. */
const ENTRIES_AT_A_TIME = 20;
/** Entries that are written in one transaction: a name has as many as there are catalogs with different ones. */
const MAX_ENTRIES = 100;

type FunctionRow = Omit<IndexRow, 'entry' | 'replacement' | 'words' | 'kind'> &
  FoldedName & {
    /** Null if the registry has no function with the name. */
    kind: string | null;
    deprecation: string | null;
    fields: string | null;
    readme: string | null;
    /** JSON: lists of the values of a `Place`; null without any in PostgreSQL. */
    places: string | null;
  };

/** One statement for many names. */
const namesFrom = (wanted: string, places: string) => `
  SELECT wanted.value ->> 0 AS "group", wanted.value ->> 1 AS "kindFolded", function.kind,
    ${DOCUMENT_FIELDS.map((field) => `function.${field}`).join(', ')}, release.deprecated AS deprecation,
    release_words.fields, release_words.readme, (SELECT ${places}) AS places
  FROM ${wanted} AS wanted
  LEFT JOIN function ON function.group_name = wanted.value ->> 0 AND function.kind_folded = wanted.value ->> 1
  LEFT JOIN release ON release.function_id = function.id AND release.release = function.release
  LEFT JOIN release_words ON release_words.release = release.id`;
const PLACES = `catalog_function AS place
  WHERE place.group_name = wanted.value ->> 0 AND lower(place.kind) = wanted.value ->> 1
    AND place.entry IS NOT NULL AND ${IN_NEWEST_SNAPSHOT}`;
const selectNames = text<FunctionRow>({
  sqlite: namesFrom(
    'json_each(:wanted)',
    `json_group_array(json_array(catalog, kind, entry, selection)) FROM (SELECT * FROM ${PLACES} ${PLACE_ORDER})`,
  ),
  postgres: namesFrom(
    'json_array_elements(:wanted::json)',
    `json_agg(json_build_array(catalog, kind, entry, selection::text) ${PLACE_ORDER}) FROM ${PLACES}`,
  ),
});
const selectEntries = text<{ digest: Digest; json: string }>(
  inList((digests) => `SELECT digest, json FROM entry WHERE digest IN ${digests}`, ':digests'),
);

/** What is known of a name before entries are read: of an entry, only the digest. */
type NamedPlaces = RecordedName & {
  /** The entries to read. */
  unread: Digest[];
};
/** Returns the entries of a name in the index. */
type KnownEntries = (name: FoldedName) => readonly Digest[];

/**
 * Returns what the registry says of names, each given once, with one statement; undefined if entries have to be read for
 * that. Known entries of a name are not read.
 */
export function* namesWithoutEntries(
  names: readonly FoldedName[],
  knownEntries: KnownEntries,
): Work<RecordedName[] | undefined> {
  const found = yield* namedPlaces(names, knownEntries);
  return found.some(({ unread }) => unread.length > 0) ? undefined : found;
}

/**
 * As `namesWithoutEntries`, with the statements that read entries: at most some, of the displayed catalogs first. What
 * is `left` has to be read again once the index has these.
 */
export function* recordedNames(
  names: readonly FoldedName[],
  knownEntries: KnownEntries,
  maxEntries = MAX_ENTRIES,
): Work<{ found: RecordedName[]; left: FoldedName[] }> {
  const wanted = new Set<Digest>();
  const some: NamedPlaces[] = [];
  const left: FoldedName[] = [];
  for (const one of yield* namedPlaces(names, knownEntries)) {
    const isFull = wanted.size >= maxEntries && one.unread.length > 0;
    if (!isFull) some.push(one);
    for (const digest of one.unread) if (wanted.size < maxEntries) wanted.add(digest);
    if (isFull || one.unread.some((digest) => !wanted.has(digest)))
      left.push({ group: one.group, kindFolded: one.kindFolded });
  }
  const entries = yield* entryRows([...wanted]);
  const found = some.map(({ unread, rows, ...name }): RecordedName => {
    const read = (row: WordedRow | Digest): (WordedRow | Digest)[] => {
      if (typeof row !== 'string' || !unread.includes(row)) return [row];
      if (!wanted.has(row)) return [];
      const entry = entries.get(row);
      if (entry === undefined) throw new KrmhubError('internal', `rendered entry ${row} is missing`);
      return [entry];
    };
    return { ...name, rows: rows.flatMap(read) };
  });
  return { found, left };
}

function* namedPlaces(names: readonly FoldedName[], knownEntries: KnownEntries): Work<NamedPlaces[]> {
  if (names.length === 0) return [];
  const wanted = JSON.stringify(names.map(({ group, kindFolded }) => [group, kindFolded]));
  return (yield* selectNames.all({ wanted })).map(({ group, kindFolded, kind, places: json, ...row }) => {
    const name = { group, kindFolded };
    const places: Place[] = [];
    const entries = new Set<Digest>();
    for (const [catalog, itsKind, entry, selection] of JSON.parse(json ?? '[]') as PlaceValues[]) {
      const versions = readVersions(selection);
      if (versions.some(({ release }) => release === undefined)) entries.add(entry);
      places.push({ catalog, kind: itsKind, entry, selection: JSON.stringify({ versions }) });
    }
    if (kind !== null) return { ...name, rows: [ofRegistry({ kind, ...row })], places, unread: [] };
    const known = entries.size === 0 ? [] : knownEntries(name);
    return {
      ...name,
      rows: [...entries],
      places,
      unread: [...entries].filter((entry) => !known.includes(entry)),
    };
  });
}

type PlaceValues = [catalog: string, kind: string, entry: Digest, selection: string];

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
  deprecation,
  fields,
  readme,
  ...row
}: Omit<FunctionRow, keyof FoldedName | 'kind' | 'places'> & { kind: string }): WordedRow {
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
