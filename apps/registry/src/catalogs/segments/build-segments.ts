import {
  type AddedSegment,
  type CatalogEntryRow,
  type CatalogHeader,
  type CatalogSegment,
  catalogFrame,
  compareFunctionNames,
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
  type SnapshotRecord,
  type SnapshotStore,
} from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import type { HashedDocuments } from './checkpoint-hasher.js';
import type { DocumentHasher } from './document-hasher.js';
import { deflateSegment, joinTexts } from './gzip.js';
import { SNAPSHOT_BETWEEN } from './snapshot-digest.js';

/** Segments that are compressed at the same time, besides other work. */
const COMPRESSIONS_AT_ONCE = 4;
/** Compressed bytes of new segments that wait for the commit; more are stored before it. */
const MAX_WAITING_BYTES = 4_194_304;
/** Bytes of the entries of segments that are looked for in the store together. */
const MAX_LOOKED_FOR_BYTES = 1_048_576;
/** Functions whose rows are read together. */
const ROWS_AT_ONCE = 500;

export type SegmentStore = Pick<
  SnapshotStore,
  'entries' | 'entryTexts' | 'latestEntryRows' | 'segments' | 'missingSegments' | 'storeSegments'
>;

export interface BuiltSegments extends HashedDocuments {
  segments: SegmentChanges;
}

interface Build {
  header: CatalogHeader;
  /** The newest snapshot. */
  previous: SnapshotRecord | undefined;
  /** Entry rows that differ from it. */
  changed: readonly CatalogEntryRow[];
  /** Entries of `changed` that are not stored yet. */
  known: ReadonlyMap<Digest, RenderedEntry>;
  /** Whether `changed` does not contain all changes. */
  isFull: boolean;
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
 * segments.
 */
export async function buildSegments(
  store: SegmentStore,
  hasher: DocumentHasher,
  build: Build,
): Promise<BuiltSegments> {
  const { header, previous, changed, known, isFull } = build;
  const serial = previous?.serial ?? 0;
  const before = (await store.segments(header.name, serial)) ?? [];
  const isWhole = isFull || before.length === 0;
  const ranges: NameRange[] = isWhole ? [{}] : rangesToSplit(before, changed);
  // Without any change, everything can be continued.
  const firstChange = ranges.length === 0 ? LAST_NAME : ranges[0]?.from;
  const hashes = await hasher.begin(
    {
      header,
      ...(isFull || previous === undefined ? {} : { previous: previous.digests['catalog.yaml'] }),
      ...(firstChange === undefined ? {} : { firstChange }),
    },
    { serial: serial + 1, functions: Math.max(previous?.functions ?? 0, changed.length) },
  );
  const state = { catalog: header.name, serial: serial + 1, changed, known };
  const segments = new ChangedSegments(store, before, ranges, { header, changed });
  const unchanged = segmentRanges(before);
  let at = hashes.from;
  for (const range of ranges) {
    if (range.from !== undefined) await hashes.addStored(unchanged(at, range.from));
    for await (const entry of mergedEntries(store, state, range)) {
      await hashes.add(entry);
      await segments.add(entry);
    }
    at = range.to;
  }
  if (ranges.length === 0 || at !== undefined) await hashes.addStored(unchanged(at, undefined));
  return { ...(await hashes.end()), segments: await segments.end() };
}

/** Divides parts of a catalog, which are given in order, where its segments begin. */
function segmentRanges(segments: readonly FunctionName[]) {
  let next = 0;
  return (from: FunctionName | undefined, to: FunctionName | undefined): NameRange[] => {
    const starts = from === undefined ? [] : [from];
    for (; next < segments.length; next += 1) {
      const { group, kind } = segments[next]!;
      if (to !== undefined && compareFunctionNames({ group, kind }, to) >= 0) break;
      if (from === undefined || compareFunctionNames({ group, kind }, from) > 0) starts.push({ group, kind });
    }
    return starts.map((start, index) => {
      const end = starts[index + 1] ?? to;
      return { from: start, ...(end === undefined ? {} : { to: end }) };
    });
  };
}

/** Yields the entries of a part of a catalog after the changes. */
async function* mergedEntries(
  store: Pick<SnapshotStore, 'entries' | 'entryTexts'>,
  { catalog, serial, changed, known }: Pick<Build, 'changed' | 'known'> & { catalog: string; serial: number },
  range: NameRange,
): AsyncIterable<EntryTexts> {
  const changes = changed.filter((one) => isInRange(one, range)).sort(compareFunctionNames);
  let at = 0;
  let read: ReadonlyMap<Digest, RenderedEntry> = new Map();
  const next = async (): Promise<EntryTexts[]> => {
    const { group, kind, entry: digest } = changes[at]!;
    if (digest !== undefined && !known.has(digest) && !read.has(digest)) {
      const batch = changes.slice(at, at + SERVER_LIMITS.buildBatch).flatMap(({ entry }) => entry ?? []);
      read = await store.entries(batch.filter((one) => !known.has(one)));
    }
    at += 1;
    if (digest === undefined) return [];
    const entry = known.get(digest) ?? read.get(digest);
    if (entry === undefined) throw new Error(`the store has no entry ${digest}`);
    return [{ group, kind, digest, yaml: Buffer.from(entry.yaml), json: Buffer.from(entry.json) }];
  };
  for await (const current of store.entryTexts(catalog, serial, range.from)) {
    if (!isInRange(current, range)) break;
    while (at < changes.length && compareFunctionNames(changes[at]!, current) < 0) yield* await next();
    if (at < changes.length && compareFunctionNames(changes[at]!, current) === 0) yield* await next();
    else yield current;
  }
  while (at < changes.length) yield* await next();
}

/** Splits parts of a catalog, whose entries are added in order, and compresses what is not stored. */
class ChangedSegments {
  readonly #store: SegmentStore;
  readonly #before: readonly CatalogSegment[];
  readonly #ranges: readonly NameRange[];
  readonly #between: Buffer;
  readonly #splitter = new SegmentSplitter<SizedEntry>();
  readonly #catalog: string;
  readonly #changed: ReadonlyMap<string, CatalogEntryRow>;
  readonly #made: MadeSegment[] = [];
  /** Segments that may be stored already. */
  #lookedFor: { digest: Digest; entries: readonly SizedEntry[] }[] = [];
  #lookedForBytes = 0;
  readonly #known: Set<Digest>;
  readonly #running = new Set<Promise<void>>();
  #contents: SegmentContent[] = [];
  #waitingBytes = 0;
  #range = 0;

  constructor(
    store: SegmentStore,
    before: readonly CatalogSegment[],
    ranges: readonly NameRange[],
    { header, changed }: Pick<Build, 'header' | 'changed'>,
  ) {
    this.#store = store;
    this.#catalog = header.name;
    this.#changed = new Map(changed.map((row) => [nameKey(row), row]));
    this.#before = before;
    this.#ranges = ranges;
    this.#between = Buffer.from(catalogFrame('catalog.json', header).between);
    this.#known = new Set(before.map(({ digest }) => digest));
  }

  async add(entry: EntryTexts): Promise<void> {
    for (;;) {
      const to = this.#ranges[this.#range]?.to;
      if (to === undefined || compareFunctionNames(entry, to) < 0) break;
      await this.#take(this.#splitter.end());
      this.#range += 1;
    }
    const range = this.#ranges[this.#range];
    if (range === undefined || !isInRange(entry, range)) return;
    const bytes = entry.yaml.byteLength + entry.json.byteLength;
    await this.#take(this.#splitter.add({ ...entry, bytes }));
  }

  async end(): Promise<SegmentChanges> {
    await this.#take(this.#splitter.end());
    await this.#compressMissing();
    await Promise.all(this.#running);
    const key = (segment: FunctionName & { digest: Digest }) => `${nameKey(segment)} ${segment.digest}`;
    const replaced = this.#before.filter((one) => this.#ranges.some((range) => isInRange(one, range)));
    const earlier = new Set(replaced.map(key));
    const made = new Set(this.#made.map(key));
    const added = this.#made.filter((one) => one.isChanged || !earlier.has(key(one)));
    return {
      removed: replaced.filter((one) => !made.has(key(one))).map(({ group, kind }) => ({ group, kind })),
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
    if (this.#known.has(digest)) return;
    this.#known.add(digest);
    this.#lookedFor.push({ digest, entries });
    this.#lookedForBytes += entries.reduce((sum, { bytes }) => sum + bytes, 0);
    if (this.#lookedForBytes >= MAX_LOOKED_FOR_BYTES) await this.#compressMissing();
  }

  /** Compresses the segments that are not stored: another catalog may have the same. */
  async #compressMissing(): Promise<void> {
    const lookedFor = this.#lookedFor;
    if (lookedFor.length === 0) return;
    this.#lookedFor = [];
    this.#lookedForBytes = 0;
    const missing = new Set(await this.#store.missingSegments(lookedFor.map(({ digest }) => digest)));
    for (const { digest, entries } of lookedFor) {
      if (!missing.has(digest)) continue;
      if (this.#running.size >= COMPRESSIONS_AT_ONCE) await Promise.race(this.#running);
      const running: Promise<void> = this.#compress(digest, entries).finally(() =>
        this.#running.delete(running),
      );
      this.#running.add(running);
      // The end, or the race above, reports the error.
      running.catch(() => undefined);
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

  async #compress(digest: Digest, entries: readonly EntryTexts[]): Promise<void> {
    const content = await segmentContent(digest, entries, this.#between);
    this.#contents.push(content);
    this.#waitingBytes += content.yaml.byteLength + content.json.byteLength;
  }
}

function nameKey({ group, kind }: FunctionName): string {
  return `${group}/${kind}`;
}

/** Compresses the entries of a segment. `between` is the text between two of them in JSON. */
async function segmentContent(
  digest: Digest,
  entries: readonly EntryTexts[],
  between: Uint8Array,
): Promise<SegmentContent> {
  const [yaml, json] = await Promise.all([
    deflateSegment(
      joinTexts(
        entries.map((entry) => entry.yaml),
        new Uint8Array(),
      ),
    ),
    deflateSegment(
      joinTexts(
        entries.map((entry) => entry.json),
        between,
      ),
    ),
  ]);
  return { digest, yaml, json };
}
