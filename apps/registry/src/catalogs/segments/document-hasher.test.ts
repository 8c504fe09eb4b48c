import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type DocumentFacts, RevisionConflict, type SegmentContent } from '@krmhub/catalog';
import { type SnapshotRendition, sha256 } from '@krmhub/schema';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startWorker } from '../../workers/isolation/start-worker.js';
import { Thread } from '../../workers/isolation/thread.js';
import type { SegmentTexts } from './checkpoint-hasher.js';
import { type CatalogHashes, DamagedSegments, DocumentHasher } from './document-hasher.js';
import { deflateSegment } from './gzip.js';
import { HasherThread, type HashRole } from './hasher-thread.js';

const HEADER = { name: 'default' };
/** Functions of a large catalog. */
const LARGE = 3;
/** A checkpoint follows each segment of this size. */
const LARGE_TEXT = 1_100_000;
const KINDS = ['Fa', 'Fb', 'Fc', 'Fd', 'Fe'];

let contents: Map<string, SegmentContent>;
let thread: HasherThread;
let workers: Worker[];
/** Of `workers`: a worker can be online before a test waits for it. */
let online: Promise<unknown>[];
let hasher: DocumentHasher;
beforeEach(() => {
  contents = new Map();
  useThread(() => startWorker('hash-thread', { workerData: {} }));
});
afterEach(() => thread.close());

function useThread(start: () => Worker): void {
  workers = [];
  online = [];
  const log = pino({ level: 'silent' });
  const worker = new Thread<HashRole>({
    name: 'hash-thread',
    log,
    start: () => {
      const worker = start();
      workers.push(worker);
      const isOnline = once(worker, 'online');
      isOnline.catch(() => undefined);
      online.push(isOnline);
      return worker;
    },
  });
  thread = new HasherThread({ log }, worker);
  const segmentContents = async (digests: readonly string[]) => digests.map((digest) => contents.get(digest));
  hasher = new DocumentHasher({ segmentContents }, { functions: LARGE, thread });
}

const name = (kind: string) => ({ group: 'example.com', kind });

/** Returns the text of a segment that can be compressed, with a part that cannot. */
function texts(text: string, bytes = 100): SegmentTexts {
  const of = (syntax: string) => Buffer.from(`${text} in ${syntax}\n`.repeat(bytes / 10).slice(0, bytes));
  return { yaml: of('yaml'), json: Buffer.concat([of('json'), randomBytes(10)]) };
}

interface Stored {
  kind: string;
  texts: SegmentTexts;
}

async function store({ kind, texts: { yaml, json } }: Stored) {
  const digest = sha256(yaml);
  const content = { digest, yaml: await deflateSegment(yaml), json: await deflateSegment(json) };
  contents.set(digest, content);
  return {
    ...name(kind),
    digest,
    compressed: { yaml: content.yaml.byteLength, json: content.json.byteLength },
  };
}

const storeAll = (segments: readonly Stored[]) => Promise.all(segments.map(store));

/** Hashes new segments. */
async function hashNew(
  segments: readonly Stored[],
  functions = 0,
  between: () => Promise<unknown> = async () => undefined,
) {
  const hashes = await hasher.begin(HEADER, functions);
  for (const [at, { kind, texts }] of segments.entries()) {
    if (at === 1) await between();
    await hashes.add(name(kind), texts);
  }
  return toSnapshot(await hashes.end());
}

/** Returns the snapshot with hashed documents. */
const toSnapshot = (hashed: Awaited<ReturnType<CatalogHashes['end']>>) => ({
  ...hashed,
  catalog: HEADER.name,
  serial: 1,
  previous: null,
  functions: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
});

describe.each([
  ['here', LARGE - 1],
  ['in another thread', LARGE],
])('%s', (_, functions) => {
  it('hashes segments that did not change, others, and what they replace', async () => {
    const before = ['Fa', 'Fb', 'Fc', 'Fd'].map((kind) => ({ kind, texts: texts(kind) }));
    const previous = await hashNew(before, functions);
    const [first, second, third, fourth] = await storeAll(before);
    const changed = [
      { kind: 'Fb', texts: texts('changed') },
      { kind: 'Fbb', texts: texts('new') },
    ];
    const hashes = await hasher.begin(HEADER, functions, {
      previous,
      firstChange: name('Fb'),
      segments: [first!, second!, third!, fourth!],
    });
    expect(hashes.from).toBeUndefined();
    await hashes.addKept([first!]);
    await hashes.addReplaced([second!, third!]);
    for (const { kind, texts } of changed) await hashes.add(name(kind), texts);
    await hashes.addKept([fourth!]);
    const hashed = await hashes.end();
    expect(toSnapshot(hashed)).toEqual(await hashNew([before[0]!, ...changed, before[3]!], functions));
    expect(hashed.digests['catalog.yaml']).not.toBe(previous.digests['catalog.yaml']);

    // A document without functions has another text.
    const all = await storeAll(before);
    const emptied = await hasher.begin(HEADER, functions, {
      previous,
      firstChange: undefined,
      segments: all,
    });
    await emptied.addReplaced(all);
    expect(toSnapshot(await emptied.end())).toEqual(await hashNew([], functions));
  });

  it('continues from the last checkpoint before the first change', async () => {
    const segments = KINDS.map((kind) => ({ kind, texts: texts(kind, LARGE_TEXT) }));
    const hashed = await hashNew(segments, functions);
    const stored = await storeAll(segments);
    const begin = (previous: typeof hashed, firstChange: string | undefined, header = HEADER) =>
      hasher.begin(header, functions, {
        previous,
        firstChange: firstChange === undefined ? undefined : name(firstChange),
        segments: stored,
      });
    const again = await begin(hashed, 'Fd');
    expect(again.from).toEqual(name('Fd'));
    await again.addKept(stored.slice(3));
    expect(toSnapshot(await again.end())).toEqual(hashed);
    expect((await begin(hashed, 'Fca')).from).toEqual(name('Fc'));
    expect((await begin(hashed, undefined)).from).toBeUndefined();
    const another = { ...hashed, digests: { ...hashed.digests, 'catalog.yaml': sha256('another') } };
    expect((await begin(another, 'Fd')).from).toBeUndefined();
    const labels = { team: 'a' };
    expect(
      (
        await hasher.begin({ ...HEADER, labels }, functions, {
          previous: hashed,
          firstChange: name('Fd'),
          segments: stored,
        })
      ).from,
    ).toBe(undefined);
  });

  it('hashes catalogs with the same entries together, and continues each by itself', async () => {
    const segments = KINDS.map((kind) => ({ kind, texts: texts(kind, LARGE_TEXT) }));
    const stored = await storeAll(segments);
    const headers = [HEADER, { name: 'second', labels: { team: 'a' } }, { name: 'third' }];
    const alone = async (header: (typeof headers)[number]) => {
      const hashes = await new DocumentHasher({ segmentContents: async () => [] }).begin(header, 0);
      for (const { kind, texts } of segments) await hashes.add(name(kind), texts);
      const { digests, documents } = await hashes.end();
      return { digests, documents };
    };
    const together = await hasher.begin(HEADER, functions, undefined, headers.slice(1));
    for (const { kind, texts } of segments) await together.add(name(kind), texts);
    const { others, ...own } = await together.end();
    expect([...others.keys()]).toEqual(['second', 'third']);
    for (const header of headers) {
      const hashed = others.get(header.name) ?? own;
      expect(hashed).toEqual(await alone(header));
      const previous = { ...toSnapshot({ ...hashed, others: new Map() }), catalog: header.name, ...header };
      const again = await hasher.begin(header, functions, {
        previous,
        firstChange: name('Fd'),
        segments: stored,
      });
      expect(again.from).toEqual(name('Fd'));
      await again.addKept(stored.slice(3));
      expect((await again.end()).digests).toEqual(hashed.digests);
    }
  });

  it.each<[string, (content: SegmentContent) => Promise<Partial<SegmentContent>>]>([
    ['has another text', async () => ({ yaml: await deflateSegment(Buffer.from('another')) })],
    ['has no text', async () => ({ json: await deflateSegment(new Uint8Array()) })],
    ['is cut off', async ({ json }) => ({ json: json.subarray(0, -6) })],
    ['lacks its last byte', async ({ yaml }) => ({ yaml: yaml.subarray(0, -1) })],
    ['is empty', async () => ({ yaml: new Uint8Array() })],
    ['is not compressed', async () => ({ json: Buffer.from([0xff, 0xff]) })],
  ])('rejects what is hashed if a segment %s', async (_, damage) => {
    const before = KINDS.map((kind) => ({ kind, texts: texts(kind) }));
    const previous = await hashNew(before, functions);
    for (const at of [0, 1, 4]) {
      const stored = await storeAll(before);
      const content = contents.get(stored[at]!.digest)!;
      contents.set(content.digest, { ...content, ...(await damage(content)) });
      const hashing = async () => {
        const hashes = await hasher.begin(HEADER, functions, {
          previous,
          firstChange: undefined,
          segments: stored,
        });
        await hashes.addKept(stored.slice(0, 1));
        await hashes.addReplaced(stored.slice(1, 2));
        await hashes.add(name('Fb'), texts('changed'));
        await hashes.addKept(stored.slice(2));
        return hashes.end();
      };
      await expect(hashing()).rejects.toThrow(DamagedSegments);
    }
  });

  it.each<Partial<DocumentFacts>>([{ crc32: 1 }, { bytes: 1 }])(
    'rejects what is hashed if the newest snapshot had %o',
    async (facts) => {
      const before = [{ kind: 'Fa', texts: texts('Fa') }];
      const previous = await hashNew(before, functions);
      const segments = await storeAll(before);
      for (const rendition of Object.keys(previous.documents) as SnapshotRendition[]) {
        const documents = {
          ...previous.documents,
          [rendition]: { ...previous.documents[rendition], ...facts },
        };
        const hashes = await hasher.begin(HEADER, functions, {
          previous: { ...previous, documents },
          firstChange: undefined,
          segments,
        });
        await hashes.addKept(segments);
        await expect(hashes.end()).rejects.toThrow(
          `the checksum of ${rendition} is not that of its segments`,
        );
      }
    },
  );

  it('reports a segment that was deleted meanwhile as a conflict', async () => {
    const before = KINDS.map((kind) => ({ kind, texts: texts(kind) }));
    const previous = await hashNew(before, functions);
    const stored = await storeAll(before);
    contents.delete(stored[1]!.digest);
    const hashes = await hasher.begin(HEADER, functions, {
      previous,
      firstChange: undefined,
      segments: stored,
    });
    await expect(hashes.addKept(stored)).rejects.toThrow(RevisionConflict);
  });
});

it('starts a thread for a large catalog only', async () => {
  const segments = KINDS.map((kind) => ({ kind, texts: texts(kind) }));
  const hashed = await hashNew(segments, LARGE - 1);
  expect(workers).toEqual([]);
  expect(await hashNew(segments, LARGE)).toEqual(hashed);
  expect(workers).toHaveLength(1);
});

it('rejects a catalog whose thread has ended, and hashes the next one', async () => {
  const segments = KINDS.map((kind) => ({ kind, texts: texts(kind) }));
  await expect(hashNew(segments, LARGE, () => workers[0]!.terminate())).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(await hashNew(segments, LARGE)).toEqual(await hashNew(segments));
});

it('rejects a catalog if the thread was started again without what it had hashed', async () => {
  const segments = KINDS.map((kind) => ({ kind, texts: texts(kind) }));
  const restarted = async () => {
    await workers[0]!.terminate();
    await expect.poll(() => workers.length).toBe(2);
    await online[1];
  };
  // What it had not hashed yet when it ended is rejected first.
  await expect(hashNew(segments, LARGE, restarted)).rejects.toThrow(
    /is not being hashed|starting or stopping/,
  );
  expect(await hashNew(segments, LARGE)).toEqual(await hashNew(segments));
});

it('hashes here if the thread cannot start', async () => {
  useThread(() => new Worker('process.exit(1)', { eval: true }));
  const segments = KINDS.map((kind) => ({ kind, texts: texts(kind) }));
  expect(await hashNew(segments, LARGE)).toEqual(await hashNew(segments));
  expect(workers.length).toBeGreaterThan(0);
});
