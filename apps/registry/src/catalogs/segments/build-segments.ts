/**
 * Splits catalogs into compressed segments, and hashes their documents.
 *
 * The cost of a build follows the change: it compresses the segments that changed (gzip.ts), and continues the hashes
 * from a checkpoint before the first change (checkpoint-hasher.ts). A read concatenates segments instead of compressing
 * a document (catalog-documents.ts).
 *
 * @module
 */

import {
  type AddedSegment,
  type CatalogEntryRow,
  type CatalogHeader,
  type CatalogSegment,
  catalogFrame,
  compareFunctionNames,
  type EntryReader,
  type EntryTexts,
  isInRange,
  type NameRange,
  type RenderedEntry,
  rangesToSplit,
  renderSnapshotLine,
  type Segment,
  type SegmentChanges,
  type SegmentContent,
  SegmentSplitter,
  type SegmentStore,
  type SnapshotRecord,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import type { EndedHashes, SegmentTexts } from './checkpoint-hasher.js';
import type { CatalogHashes, DocumentHasher } from './document-hasher.js';
import { deflateSegment, FAST, joinTexts } from './gzip.js';
import { SNAPSHOT_BETWEEN } from './snapshot-digest.js';

/** Segments that are compressed at the same time, besides other work. */
const COMPRESSIONS_AT_ONCE = 4;
/** Compressed bytes of new segments that wait for the commit; more are stored before it. */
const MAX_WAITING_BYTES = 4_194_304;
/** Bytes of the entries of segments that are looked for in the store together. */
const MAX_LOOKED_FOR_BYTES = 1_048_576;
/** Functions whose rows are read together. */
const ROWS_AT_ONCE = 500;

type EntrySegments = EntryReader & SegmentStore;

export interface BuiltSegments extends Omit<EndedHashes, 'replacedBodies'> {
  functions: number;
  segments: SegmentChanges;
}

export interface SegmentsBuild {
  header: CatalogHeader;
  /** Of new catalogs that have the same entries, as this one, which is new then. */
  others?: readonly CatalogHeader[];
  /** The newest snapshot. */
  previous: SnapshotRecord | undefined;
  /** Entry rows that differ from it. */
  changed: readonly CatalogEntryRow[];
  /** Entries of `changed` that are not stored yet. */
  known: ReadonlyMap<Digest, RenderedEntry>;
  /** Whether `changed` does not contain all changes. */
  isFull: boolean;
  /** Whether stored segments may be damaged, so that all are compressed again. */
  replacesContents?: boolean;
}

/** A name after all others. */
const LAST_NAME: FunctionName = { group: '\u{10ffff}', kind: '' };

type SizedEntry = EntryTexts & { bytes: number };

interface MadeSegment extends FunctionName {
  digest: Digest;
  /** Of its entries. */
  names: readonly FunctionName[];
  isChanged: boolean;
}

/**
 * Hashes the documents of the next snapshot, and splits and compresses again the parts of the catalog that changed. It
 * reads the texts from the last checkpoint before the first change on: by entries in those parts, otherwise by
 * segments. Rejects with DamagedSegments if these do not have the documents of the newest snapshot.
 */
export async function buildSegments(
  store: EntrySegments,
  hasher: DocumentHasher,
  build: SegmentsBuild,
): Promise<BuiltSegments> {
  const { header, others, previous, changed, isFull } = build;
  const serial = previous?.serial ?? 0;
  const before = (await store.segments(header.name, serial)) ?? [];
  const isWhole = isFull || before.length === 0 || previous?.documents === undefined;
  const ranges: NameRange[] = isWhole ? [{}] : rangesToSplit(before, changed);
  // Without any change, everything can be continued.
  const firstChange = ranges.length === 0 ? LAST_NAME : ranges[0]?.from;
  const size = Math.max(previous?.functions ?? 0, changed.length);
  const hashes = await hasher.begin(
    header,
    size,
    isWhole ? undefined : { previous, firstChange, segments: before },
    others,
  );
  const isFast = isWhole && size > SERVER_LIMITS.maxSmallBuildFunctions;
  const segments = new ChangedSegments(store, hashes, build, { before, isFast });
  let functions = isWhole ? 0 : previous.functions;
  let at = findIndex(before, hashes.from, 0);
  for (const range of ranges) {
    const start = findIndex(before, range.from, 0);
    const end = findIndex(before, range.to, before.length);
    await hashes.addKept(before.slice(at, start));
    if (!isWhole) await hashes.addReplaced(before.slice(start, end));
    for await (const { earlier, entry } of mergedEntries(store, build, { serial: serial + 1, range })) {
      if (earlier !== undefined && !isWhole) functions -= 1;
      if (entry === undefined) continue;
      functions += 1;
      await segments.add(entry);
    }
    await segments.endRange(before.slice(start, end));
    at = end;
  }
  await hashes.addKept(before.slice(at));
  return { ...(await hashes.end()), functions, segments: await segments.end() };
}

/** Returns the index of a segment by its name; `otherwise` if there is no name. */
function findIndex(
  segments: readonly FunctionName[],
  name: FunctionName | undefined,
  otherwise: number,
): number {
  if (name === undefined) return otherwise;
  const found = segments.findIndex((one) => compareFunctionNames(one, name) === 0);
  if (found < 0) throw new Error(`no segment begins at ${nameKey(name)}`);
  return found;
}

/** Yields the entries of a part of a catalog before and after the changes. */
async function* mergedEntries(
  store: EntryReader,
  { header, changed, known }: SegmentsBuild,
  { serial, range }: { serial: number; range: NameRange },
): AsyncIterable<{ earlier?: EntryTexts; entry?: EntryTexts }> {
  const changes = changed.filter((one) => isInRange(one, range)).sort(compareFunctionNames);
  let at = 0;
  let read: Awaited<ReturnType<EntryReader['entryTextsOf']>> = new Map();
  const next = async (): Promise<{ entry?: EntryTexts }> => {
    const { group, kind, entry: digest } = changes[at]!;
    if (digest !== undefined && !known.has(digest) && !read.has(digest)) {
      const batch = changes.slice(at, at + SERVER_LIMITS.buildBatch).flatMap(({ entry }) => entry ?? []);
      read = await store.entryTextsOf(batch.filter((one) => !known.has(one)));
    }
    at += 1;
    if (digest === undefined) return {};
    const entry = known.get(digest);
    const texts = entry && { yaml: Buffer.from(entry.yaml), json: Buffer.from(entry.json) };
    const { yaml, json } = texts ?? read.get(digest) ?? {};
    if (yaml === undefined || json === undefined) throw new Error(`the store has no entry ${digest}`);
    return { entry: { group, kind, digest, yaml, json } };
  };
  for await (const current of store.entryTexts(header.name, serial, range)) {
    while (at < changes.length && compareFunctionNames(changes[at]!, current) < 0) yield await next();
    const isChanged = at < changes.length && compareFunctionNames(changes[at]!, current) === 0;
    yield { earlier: current, ...(isChanged ? await next() : { entry: current }) };
  }
  while (at < changes.length) yield await next();
}

/** Splits parts of a catalog, whose entries are added in order, and hashes and compresses their segments. */
class ChangedSegments {
  readonly #store: EntrySegments;
  readonly #hashes: CatalogHashes;
  readonly #between: Buffer;
  readonly #splitter = new SegmentSplitter<SizedEntry>();
  readonly #catalog: string;
  readonly #changed: ReadonlyMap<string, CatalogEntryRow>;
  readonly #replacesContents: boolean;
  readonly #isFast: boolean;
  readonly #made: MadeSegment[] = [];
  readonly #replaced: CatalogSegment[] = [];
  /** Segments that may be stored already. */
  #lookedFor: { digest: Digest; texts: SegmentTexts }[] = [];
  #lookedForBytes = 0;
  readonly #known: Set<Digest>;
  readonly #running = new Set<Promise<void>>();
  #contents: SegmentContent[] = [];
  #waitingBytes = 0;

  constructor(
    store: EntrySegments,
    hashes: CatalogHashes,
    { header, changed, replacesContents = false }: SegmentsBuild,
    { before, isFast }: { before: readonly CatalogSegment[]; isFast: boolean },
  ) {
    this.#isFast = isFast;
    this.#store = store;
    this.#hashes = hashes;
    this.#catalog = header.name;
    this.#changed = new Map(changed.map((row) => [nameKey(row), row]));
    this.#replacesContents = replacesContents;
    this.#between = Buffer.from(catalogFrame('catalog.json', header).between);
    this.#known = new Set(replacesContents ? [] : before.map(({ digest }) => digest));
  }

  async add(entry: EntryTexts): Promise<void> {
    const bytes = entry.yaml.byteLength + entry.json.byteLength;
    await this.#take(this.#splitter.add({ ...entry, bytes }));
  }

  /** Ends a part of the catalog, which had these segments before. */
  async endRange(before: readonly CatalogSegment[]): Promise<void> {
    await this.#take(this.#splitter.end());
    this.#replaced.push(...before);
  }

  async end(): Promise<SegmentChanges> {
    await this.#compressMissing();
    await Promise.all(this.#running);
    const key = (segment: FunctionName & { digest: Digest }) => `${nameKey(segment)} ${segment.digest}`;
    const earlier = new Set(this.#replaced.map(key));
    const made = new Set(this.#made.map(key));
    const added = this.#made.filter((one) => one.isChanged || !earlier.has(key(one)));
    return {
      removed: this.#replaced
        .filter((one) => !made.has(key(one)))
        .map(({ group, kind }) => ({ group, kind })),
      added: await this.#withLines(added),
      contents: this.#contents,
    };
  }

  async #take(segment: Segment<SizedEntry> | undefined): Promise<void> {
    if (segment === undefined) return;
    const { group, kind, digest, entries } = segment;
    const names = entries.map((entry) => ({ group: entry.group, kind: entry.kind }));
    const isChanged = names.some((name) => this.#changed.has(nameKey(name)));
    this.#made.push({ group, kind, digest, names, isChanged });
    const texts = {
      yaml: Buffer.concat(entries.map((entry) => entry.yaml)),
      json: joinTexts(
        entries.map((entry) => entry.json),
        this.#between,
      ),
    };
    await this.#hashes.add({ group, kind }, texts);
    if (this.#known.has(digest)) return;
    this.#known.add(digest);
    this.#lookedFor.push({ digest, texts });
    this.#lookedForBytes += texts.yaml.byteLength + texts.json.byteLength;
    if (this.#lookedForBytes >= MAX_LOOKED_FOR_BYTES) await this.#compressMissing();
  }

  /** Compresses the segments that are not stored: another catalog may have the same. */
  async #compressMissing(): Promise<void> {
    const lookedFor = this.#lookedFor;
    if (lookedFor.length === 0) return;
    this.#lookedFor = [];
    this.#lookedForBytes = 0;
    const digests = lookedFor.map(({ digest }) => digest);
    const missing = new Set(this.#replacesContents ? digests : await this.#store.missingSegments(digests));
    for (const { digest, texts } of lookedFor) {
      if (!missing.has(digest)) continue;
      if (this.#running.size >= COMPRESSIONS_AT_ONCE) await Promise.race(this.#running);
      const running = this.#compress(digest, texts);
      this.#running.add(running);
      // A failure stays, and the end, or the race above, rejects with it.
      running.then(
        () => this.#running.delete(running),
        () => undefined,
      );
      if (this.#waitingBytes < MAX_WAITING_BYTES) continue;
      const contents = this.#contents;
      this.#contents = [];
      this.#waitingBytes = 0;
      await this.#store.storeSegments(contents);
    }
  }

  /** Adds the lines of the entries in `snapshot.json`. */
  async #withLines(made: readonly MadeSegment[]): Promise<AddedSegment[]> {
    const added: AddedSegment[] = [];
    const unchanged = ({ names }: MadeSegment) => names.filter((name) => !this.#changed.has(nameKey(name)));
    for (let at = 0; at < made.length; ) {
      const some: MadeSegment[] = [];
      const wanted: FunctionName[] = [];
      while (at < made.length && wanted.length < ROWS_AT_ONCE) {
        some.push(made[at]!);
        wanted.push(...unchanged(made[at]!));
        at += 1;
      }
      const found = await this.#store.latestEntryRows(this.#catalog, wanted);
      const rows = new Map(found.map((row) => [nameKey(row), row]));
      const line = (name: FunctionName) =>
        renderSnapshotLine(this.#changed.get(nameKey(name)) ?? rows.get(nameKey(name))!);
      for (const { isChanged: _, names, ...segment } of some)
        added.push({ ...segment, lines: names.map(line).join(SNAPSHOT_BETWEEN) });
    }
    return added;
  }

  async #compress(digest: Digest, { yaml, json }: SegmentTexts): Promise<void> {
    const level = this.#isFast ? ([FAST] as const) : [];
    const compressed = await Promise.all([deflateSegment(yaml, ...level), deflateSegment(json, ...level)]);
    const content = { digest, yaml: compressed[0], json: compressed[1] };
    this.#contents.push(content);
    this.#waitingBytes += content.yaml.byteLength + content.json.byteLength;
  }
}

function nameKey({ group, kind }: FunctionName): string {
  return `${group}/${kind}`;
}
