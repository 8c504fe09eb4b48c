import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { catalogText } from './test-upstream.js';
import { UpstreamReader } from './upstream-reader.js';

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-reader-'));
let reader: UpstreamReader;
let started = 0;
afterEach(() => reader.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A reader whose worker does what the body says with `input`, and answers with `answer`. */
function readerThat(body: string, milliseconds = 60_000): UpstreamReader {
  const file = path.join(folder, `worker-${started}.mjs`);
  writeFileSync(
    file,
    `import { parentPort } from 'node:worker_threads';
const answer = (value) => parentPort.postMessage(value);
parentPort.on('message', (input) => { ${body} });`,
  );
  reader = new UpstreamReader({
    startWorker: () => {
      started += 1;
      return new Worker(file, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 64 } });
    },
    milliseconds,
  });
  return reader;
}

const read = (text: string, known: ReadonlySet<`sha256:${string}`> = new Set()) =>
  reader.read({ bytes: new TextEncoder().encode(text), file: 'theirs', known });

describe('reading a catalog elsewhere', () => {
  it('gives its entries, rendered where they are not known', async () => {
    reader = new UpstreamReader();
    const text = catalogText({ One: 'first', Two: 'second' });
    const first = await read(text);
    if ('refused' in first) throw new Error(first.refused.message);
    expect(first.entries.map(({ kind }) => kind)).toEqual(['One', 'Two']);
    expect(first.rendered.map(({ digest }) => digest)).toEqual(
      first.entries.map(({ definition }) => definition),
    );
    const second = await read(text, new Set([first.entries[0]!.definition]));
    expect(second).toMatchObject({ entries: first.entries, rendered: [first.rendered[1]] });
  });

  it('says why something is no catalog', async () => {
    reader = new UpstreamReader();
    expect(await read('kind: Other')).toMatchObject({
      refused: { problem: 'invalid-catalog', message: expect.any(String) },
    });
  });

  it.each([
    ['time', 'for (;;);', 300],
    ['memory', 'const all = []; for (;;) all.push(new Array(100_000).fill(all.length));', 60_000],
  ])('takes no more than its share of %s, and goes on with others', async (_, body, milliseconds) => {
    const empty = `answer({ entries: [], rendered: [], invalid: [], invalidEntries: 0 })`;
    readerThat(`if (input.bytes.length === 1) { ${body} } else ${empty}`, milliseconds);
    const hostile = read('x');
    const good = read('good');
    expect(await hostile).toEqual({
      refused: { problem: 'invalid-catalog', message: 'it takes too much time or memory to read' },
    });
    expect(await good).toMatchObject({ entries: [] });
  });

  it('is broken off by a stop, and fails where the thread does', async () => {
    readerThat('process.exit(3)');
    await expect(read('x')).rejects.toThrow('a worker ended');
    readerThat('for (;;);');
    const reading = read('x');
    const waiting = read('y');
    reading.catch(() => undefined);
    waiting.catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await reader.close();
    await expect(reading).rejects.toThrow();
    await expect(waiting).rejects.toThrow();
  });

  it('ends its thread when nothing is left to be read', async () => {
    readerThat('answer({ problem: String(input.bytes.length) })');
    const before = started;
    await Promise.all([read('a'), read('bb')]);
    expect(started).toBe(before + 1);
    await read('ccc');
    expect(started).toBe(before + 2);
  });
});
