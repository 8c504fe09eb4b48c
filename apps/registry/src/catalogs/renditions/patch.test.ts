import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type BlobStore,
  type CatalogEntryRow,
  type CatalogHeader,
  compareFunctionNames,
  type EntrySize,
  type RenderedEntry,
} from '@krmhub/catalog';
import {
  type Digest,
  type FunctionName,
  SNAPSHOT_RENDITIONS,
  type SnapshotRendition,
  sha256,
} from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openBlobFolder, paths } from '../../store/blobs/folder.js';
import { type AssembledRenditions, assembleRenditions, mergeEntries } from './assemble.js';
import { deriveRendition, patchRenditions } from './patch.js';

type TestEntry = FunctionName & { entry: RenderedEntry };

let folder: string;
let blobs: BlobStore;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-forms-'));
  blobs = await openBlobFolder(folder);
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const HEADER: CatalogHeader = { name: 'default' };
const OTHER_HEADER: CatalogHeader = { name: 'default', labels: { stage: 'größer' } };

describe('patchRenditions', () => {
  test('gives the same bytes as assembling all entries, for any change', async () => {
    const random = randomNumbers(11);
    for (let round = 0; round < 60; round++) {
      const before = makeEntries(1 + Math.floor(random() * 40), random);
      const previous = await stored(HEADER, before);
      const { changed, known, after } = makeChanges(before, random);
      const header = random() < 0.5 ? HEADER : OTHER_HEADER;
      const expected = await assembleRenditions(blobs, SNAPSHOT_RENDITIONS, header, renderedEntries(after));
      const patched = await patchRenditions(
        blobs,
        header,
        { header: HEADER, digests: previous.digests },
        mergeEntries({ entries: async () => new Map() }, entrySizes(before), changed, known),
      );
      if (after.length === 0) expect(patched, `round ${round}`).toBeUndefined();
      else {
        expect(patched?.digests, `round ${round}`).toEqual(expected.digests);
        expect(patched?.sizes).toEqual(expected.sizes);
        expect(patched?.functions).toBe(after.length);
      }
      await patched?.discard();
      await expected.discard();
    }
  });

  test('copies entries that are longer than one read', async () => {
    const before = ['A', 'B', 'C'].map((kind) => makeEntry(kind, kind.repeat(700_000)));
    const previous = await stored(HEADER, before);
    const changed = [{ ...unchanged(before[1]!), entry: renderedEntry('B', 'less').digest }];
    const known = new Map([[changed[0]!.entry, renderedEntry('B', 'less')]]);
    const after = [before[0]!, makeEntry('B', 'less'), before[2]!];
    const patched = await patchRenditions(
      blobs,
      HEADER,
      { header: HEADER, digests: previous.digests },
      mergeEntries({ entries: async () => new Map() }, entrySizes(before), changed, known),
    );
    const expected = await assembleRenditions(blobs, SNAPSHOT_RENDITIONS, HEADER, renderedEntries(after));
    expect(patched?.digests).toEqual(expected.digests);
    await Promise.all([patched?.discard(), expected.discard()]);
  });

  test.each([
    ['is missing', (digest: Digest) => blobs.delete(digest)],
    ['has other bytes', (digest: Digest) => writeFile(paths.blob(folder, digest), 'other bytes')],
    [
      'has one changed byte',
      async (digest: Digest) => {
        const bytes = Buffer.from((await blobs.get(digest))!);
        bytes[bytes.byteLength - 5]! ^= 1;
        await writeFile(paths.blob(folder, digest), bytes);
      },
    ],
  ])('returns undefined if the previous rendition %s', async (_, damage) => {
    const before = makeEntries(5, randomNumbers(3));
    for (const rendition of ['catalog.yaml', 'catalog.json'] as const) {
      const previous = await stored(HEADER, before);
      await damage(previous.digests[rendition]);
      expect(await patchUnchanged(previous, before)).toBeUndefined();
    }
  });

  test('returns undefined if the stored entries differ from the previous rendition', async () => {
    const before = makeEntries(5, randomNumbers(3));
    const previous = await stored(HEADER, before);
    expect(await patchUnchanged(previous, before.slice(1))).toBeUndefined();
    const longer = before.map((entry, at) => (at === 2 ? makeEntry(entry.kind, 'more'.repeat(99)) : entry));
    expect(await patchUnchanged(previous, longer)).toBeUndefined();
  });

  test('computes only digests of renditions that are not stored', async () => {
    const before = makeEntries(5, randomNumbers(3));
    const previous = await stored(HEADER, before);
    const isStored = (rendition: SnapshotRendition, bytes: number) =>
      rendition.startsWith('catalog') || bytes < 500;
    const entries = mergeEntries({ entries: async () => new Map() }, entrySizes(before), [], new Map());
    const of = { header: HEADER, digests: previous.digests };
    const patched = await patchRenditions(blobs, OTHER_HEADER, of, entries, { isStored });
    expect(await patched?.commit()).toEqual(['catalog.yaml', 'catalog.json']);
    const small = await assembleRenditions(
      blobs,
      SNAPSHOT_RENDITIONS,
      HEADER,
      renderedEntries([makeEntry('A', 'a')]),
      {
        isStored,
      },
    );
    expect(await small.commit()).toEqual([...SNAPSHOT_RENDITIONS]);
    expect(await blobs.get(small.digests['krmfunctioncatalog.yaml'])).toBeDefined();
  });
});

describe('deriveRendition', () => {
  test.each(SNAPSHOT_RENDITIONS)('derives %s from the other rendition in its syntax', async (rendition) => {
    const entries = makeEntries(30, randomNumbers(5));
    const previous = await stored(OTHER_HEADER, entries);
    await blobs.delete(previous.digests[rendition]);
    const of = { header: OTHER_HEADER, digests: previous.digests, functions: 30 };
    const derived = await deriveRendition(blobs, rendition, of);
    expect(derived?.digests[rendition]).toBe(previous.digests[rendition]);
    await derived?.discard();
  });

  test('returns undefined for another header, and for a missing rendition', async () => {
    const previous = await stored(HEADER, makeEntries(3, randomNumbers(5)));
    const of = { header: HEADER, digests: previous.digests, functions: 3 };
    expect(await deriveRendition(blobs, 'catalog.yaml', { ...of, header: OTHER_HEADER })).toBeUndefined();
    await blobs.delete(previous.digests['catalog.json']);
    expect(await deriveRendition(blobs, 'krmfunctioncatalog.json', of)).toBeUndefined();
  });
});

async function stored(header: CatalogHeader, entries: readonly TestEntry[]): Promise<AssembledRenditions> {
  const assembled = await assembleRenditions<SnapshotRendition>(
    blobs,
    SNAPSHOT_RENDITIONS,
    header,
    renderedEntries(entries),
  );
  await assembled.commit();
  return assembled;
}

function patchUnchanged(previous: AssembledRenditions, entries: readonly TestEntry[]) {
  return patchRenditions(
    blobs,
    HEADER,
    { header: HEADER, digests: previous.digests },
    mergeEntries({ entries: async () => new Map() }, entrySizes(entries), [], new Map()),
  );
}

/** Removes, adds and replaces some entries, and changes only the row of others. */
function makeChanges(before: readonly TestEntry[], random: () => number) {
  const changed: CatalogEntryRow[] = [];
  const known = new Map<Digest, RenderedEntry>();
  const after = new Map(before.map((entry) => [entry.kind, entry]));
  const share = random();
  const put = (entry: TestEntry) => {
    known.set(entry.entry.digest, entry.entry);
    changed.push({ ...unchanged(entry), entry: entry.entry.digest });
    after.set(entry.kind, entry);
  };
  for (const entry of before) {
    if (random() > share) continue;
    const what = random();
    if (what < 0.3) put(makeEntry(entry.kind, randomText(random)));
    else if (what < 0.4) put(entry);
    else {
      changed.push({ ...unchanged(entry), versions: [] });
      after.delete(entry.kind);
    }
  }
  for (let more = 0; more < random() * 5; more++)
    put(makeEntry(`New${randomText(random).length}${more}`, randomText(random)));
  return { changed, known, after: [...after.values()].sort(compareFunctionNames) };
}

function makeEntries(count: number, random: () => number): TestEntry[] {
  const entries = Array.from({ length: count }, (_, at) => makeEntry(`Kind${at}`, randomText(random)));
  return entries.sort(compareFunctionNames);
}

function makeEntry(kind: string, text: string): TestEntry {
  return { group: 'example.com', kind, entry: renderedEntry(kind, text) };
}

function renderedEntry(kind: string, text: string): RenderedEntry {
  const yaml = `  - group: example.com\n    kind: ${kind}\n    text: ${text}\n`;
  return { digest: sha256(yaml), yaml, json: JSON.stringify({ group: 'example.com', kind, text }) };
}

function unchanged({ group, kind }: FunctionName): CatalogEntryRow {
  const version = { name: 'v1', source: 'ours', definition: sha256('definition') };
  return { group, kind, versions: [version], shadowed: [], yanked: [] };
}

async function* renderedEntries(entries: readonly TestEntry[]): AsyncIterable<RenderedEntry> {
  for (const { entry } of entries) yield entry;
}

async function* entrySizes(entries: readonly TestEntry[]): AsyncIterable<EntrySize> {
  for (const { group, kind, entry } of entries) {
    const [yamlBytes, jsonBytes] = [Buffer.byteLength(entry.yaml), Buffer.byteLength(entry.json)];
    yield { group, kind, yamlBytes, jsonBytes };
  }
}

function randomText(random: () => number): string {
  return 'äx€y'.repeat(Math.floor(random() * 60));
}

/** Returns the same numbers each time (Lehmer). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
