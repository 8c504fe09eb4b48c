import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { RenderedEntry } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { catalogText } from '../testing/upstream-server.js';
import { builtEntry } from '../workers/isolation/built-entry.js';
import { type ReadRequest, UpstreamReader } from './upstream-reader.js';

/** The built module: a process cannot run TypeScript. */
const frames = path.join(path.dirname(builtEntry('plan-process')), '../workers/isolation/frames.js');
const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-reader-'));
let reader: UpstreamReader;
let started = 0;
/** Log lines of the last reader. */
let logged: string[] = [];
afterEach(() => reader.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns a reader whose process runs `body` with `input`, and responds with `answer`. */
function readerThat(
  body: string,
  milliseconds = 60_000,
  idleMilliseconds = 10_000,
  processes = 1,
): UpstreamReader {
  const module = path.join(folder, `process-${started++}.mjs`);
  writeFileSync(
    module,
    `import { appendFileSync, existsSync, readFileSync, writeSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { respondToFrames } from ${JSON.stringify(frames)};
respondToFrames((bytes, sendPart) => {
  const input = deserialize(bytes);
  const part = (value) => sendPart(serialize(value));
  let said;
  const answer = (value) => { said = serialize(value); };
  ${body}
  return said;
});`,
  );
  logged = [];
  const log = { error: ({ err }: { err: Error }) => void logged.push(err.message) };
  const bounds = { milliseconds, megabytes: 64 };
  reader = new UpstreamReader({ module, ...bounds, idleMilliseconds, processes, log: log as never });
  return reader;
}

/** Returns a catalog in the layout that krmhub writes, as far as names go. */
const inOurLayout = (text: string) => text.replace(/^( *)(names|metadata): \{(.*)\}$/gm, '$1$2:\n$1  $3');
const toBytes = (text: string) => new TextEncoder().encode(text);
const read = (text: string, more: Partial<ReadRequest> = {}) =>
  reader.read({
    bytes: toBytes(text),
    digest: sha256(text),
    file: 'theirs',
    source: 'c/theirs',
    known: [],
    reading: {},
    onRendered: async () => undefined,
    ...more,
  });

describe('reading an upstream catalog', () => {
  it('returns its entries, and renders those that are not known', async () => {
    reader = new UpstreamReader();
    const text = catalogText({ One: 'first', Two: 'second' });
    const first = await read(text);
    if ('refused' in first) throw new Error(first.refused.message);
    expect(Object.keys(first).sort()).toEqual(['entries', 'invalid', 'invalidEntries', 'rendered']);
    expect(first.entries.map(({ kind }) => kind)).toEqual(['One', 'Two']);
    expect(first.rendered.map(({ digest }) => digest)).toEqual(
      first.entries.map(({ definition }) => definition),
    );
    const second = await read(text, { known: [first.entries[0]!] });
    expect(second).toMatchObject({ entries: first.entries, rendered: [first.rendered[1]] });
  });

  it('parses only entries whose text differs from the last good copy, if it read that copy', async () => {
    const before = inOurLayout(catalogText({ One: 'first', Two: 'second', Three: 'third' }));
    const after = inOurLayout(catalogText({ One: 'first', Two: 'changed', Three: 'third' }));
    const copy = { digest: sha256(before), bytes: toBytes(before) };
    const kinds = (result: Awaited<ReturnType<typeof read>>) =>
      'refused' in result
        ? result.refused
        : [result.entries.map(({ kind }) => kind), result.unchanged?.map(({ kind }) => kind)];
    reader = new UpstreamReader();
    const first = await read(before);
    if ('refused' in first) throw new Error(first.refused.message);
    const known = first.entries;
    expect(kinds(await read(after, { known, copy }))).toEqual([['Two', 'Three'], ['One']]);
    // The last copy that it read is another one now.
    const all = [['One', 'Two', 'Three'], undefined];
    expect(kinds(await read(after, { known, copy }))).toEqual(all);
    await read(before);
    expect(kinds(await read(after, { known, copy, source: 'c/other' }))).toEqual(all);
    expect(kinds(await read(after, { known, copy, reading: { defaults: {} } }))).toEqual(all);
    await reader.close();
    reader = new UpstreamReader();
    expect(kinds(await read(after, { known, copy }))).toEqual(all);
  });

  it('does not compare a catalog with a copy of several times its size', async () => {
    const unchangedAfter = async (removed: number) => {
      const others = Object.fromEntries(Array.from({ length: removed }, (_, at) => [`Other${at}`, 'other']));
      const before = inOurLayout(catalogText({ One: 'first', Two: 'second', ...others }));
      const first = await read(before);
      if ('refused' in first) throw new Error(first.refused.message);
      const after = inOurLayout(catalogText({ One: 'first', Two: 'changed' }));
      const copy = { digest: sha256(before), bytes: toBytes(before) };
      const result = await read(after, { known: first.entries, copy });
      return 'refused' in result ? result.refused : result.unchanged?.map(({ kind }) => kind);
    };
    reader = new UpstreamReader();
    expect(await unchangedAfter(1)).toEqual(['One']);
    expect(await unchangedAfter(10)).toBeUndefined();
  });

  it('reports why a document is not a catalog', async () => {
    reader = new UpstreamReader();
    expect(await read('kind: Other')).toMatchObject({
      refused: { problem: 'invalid-catalog', message: expect.any(String) },
    });
  });

  it.each([
    ['time', 'for (;;);', 1_000],
    ['memory', 'const all = []; for (;;) all.push(new Array(100_000).fill(all.length));', 60_000],
    ['words', 'for (;;) writeSync(1, Buffer.alloc(1_048_576));', 60_000],
  ])('limits %s, and reads the next catalog', async (_, body, milliseconds) => {
    const empty = `answer({ entries: [], rendered: [], invalid: [], invalidEntries: 0, totals: { versions: 0, storedBytes: 0 } })`;
    readerThat(`if (input.bytes.length === 1) { ${body} } else ${empty}`, milliseconds);
    const hostile = read('x');
    const good = read('good');
    expect(await hostile).toEqual({
      refused: { problem: 'invalid-catalog', message: 'it takes too much time or memory to read' },
    });
    expect(await good).toMatchObject({ entries: [] });
  });

  describe('with more entries than one part has', () => {
    const EMPTY = `{ entries: [], invalid: [], invalidEntries: 0, totals: { versions: 0, storedBytes: 0 } }`;
    const kinds = Array.from({ length: 250 }, (_, at) => `Kind${at}`);
    const text = catalogText(Object.fromEntries(kinds.map((kind) => [kind, 'text'])));

    it('passes on each rendered entry once, the last with the result', async () => {
      reader = new UpstreamReader();
      const parts: (readonly RenderedEntry[])[] = [];
      const onRendered = async (some: readonly RenderedEntry[]) => {
        await setTimeout(5);
        parts.push(some);
      };
      const result = await read(text, { onRendered });
      if ('refused' in result) throw new Error(result.refused.message);
      expect(parts.map((some) => some.length)).toEqual([100, 100]);
      expect([...parts.flat(), ...result.rendered].map(({ digest }) => digest)).toEqual(
        result.entries.map(({ definition }) => definition),
      );
      const again = await read(text, { known: result.entries.slice(10), onRendered });
      expect(again).toMatchObject({ rendered: { length: 10 } });
      expect(parts).toHaveLength(2);
    });

    it('rejects with an error of the caller, and reads the next catalog in another process', async () => {
      readerThat(`part([process.pid]); part([2]); answer({ ...${EMPTY}, rendered: [] })`);
      const pids: unknown[] = [];
      const failing = read('x', {
        async onRendered(some) {
          pids.push(some[0]);
          throw new Error('the disk is full');
        },
      });
      const next = read('y', { onRendered: async (some) => void pids.push(some[0]) });
      await expect(failing).rejects.toThrow('the disk is full');
      expect(await next).toMatchObject({ entries: [] });
      expect(pids).toEqual([expect.any(Number), expect.any(Number), 2]);
      expect(pids[1]).not.toBe(pids[0]);
    });

    it('lets the process wait while the caller has much to store', async () => {
      const sent = path.join(folder, 'sent');
      const large = 4_194_304;
      readerThat(
        `for (let at = 1; at <= 8; at++) { part(['x'.repeat(${large})]); appendFileSync(${JSON.stringify(sent)}, 'x'); }
         answer({ ...${EMPTY}, rendered: [] })`,
      );
      let sentEarly = 0;
      let parts = 0;
      const result = await read('x', {
        async onRendered() {
          parts += 1;
          if (parts > 1) return;
          await expect.poll(() => readFileSync(sent, 'utf8').length, { timeout: 60_000 }).toBeGreaterThan(1);
          await setTimeout(500);
          sentEarly = readFileSync(sent, 'utf8').length;
        },
      });
      expect(result).toMatchObject({ entries: [] });
      expect(parts).toBe(8);
      expect(sentEarly).toBeLessThan(5);
    });

    it.each([
      ['one part', `part(Buffer.alloc(${SERVER_LIMITS.maxReadResultBytes}))`],
      ['all parts', `const some = serialize(Buffer.alloc(16_777_216)); for (;;) sendPart(some)`],
    ])('limits the size of %s', async (_, body) => {
      readerThat(body);
      expect(await read('x')).toMatchObject({ refused: { problem: 'invalid-catalog' } });
    });
  });

  it('reuses a process for a while, unless it has read much', async () => {
    const pid = (result: Awaited<ReturnType<typeof read>>) =>
      'refused' in result ? result.refused.message : '';
    const isAlive = (id: string) => {
      try {
        return process.kill(Number(id), 0);
      } catch {
        return false;
      }
    };
    const body = `const until = performance.now() + input.bytes.length; while (performance.now() < until); answer({ problem: String(process.pid) })`;
    readerThat(body, 8_000, 300);
    const [first, second] = [pid(await read('x')), pid(await read('x'))];
    expect(second).toBe(first);
    await expect.poll(() => isAlive(first)).toBe(false);
    const third = pid(await read('x'.repeat(2_500)));
    expect([third === first, pid(await read('x')) === third]).toEqual([false, false]);
    const last = pid(await read('x'));
    await reader.close();
    await expect.poll(() => isAlive(last)).toBe(false);
  });

  describe('with several processes', () => {
    const MANY = 'x'.repeat(SERVER_LIMITS.startReadBytes);
    const FEW = 'x'.repeat(100);
    const readPid = async (result: ReturnType<typeof read>) => {
      const done = await result;
      if (!('refused' in done)) throw new Error('the process answers with a problem');
      return done.refused.message;
    };
    /** Answers with its id once a file of the length of its input exists. */
    const waiting = () => {
      const gates = mkdtempSync(path.join(folder, 'gates-'));
      const wait = `while (!existsSync(${JSON.stringify(`${gates}/`)} + input.bytes.length)) ; answer({ problem: String(process.pid) })`;
      readerThat(wait, 60_000, 10_000, 2);
      return (bytes: number) => writeFileSync(path.join(gates, String(bytes)), '');
    };

    it('reads large catalogs at the same time, and small ones one after the other', async () => {
      const open = waiting();
      const [first, second] = [read(MANY), read(`${MANY}y`)];
      open(MANY.length + 1);
      // The first still runs.
      const other = await readPid(second);
      open(MANY.length);
      expect(await readPid(first)).not.toBe(other);
      await reader.close();

      const openFew = waiting();
      const small = [read(FEW), read(`${FEW}y`)];
      openFew(FEW.length + 1);
      openFew(FEW.length);
      expect(await readPid(small[1]!)).toBe(await readPid(small[0]!));
    });

    it('reads catalogs alone that together would need too much memory', async () => {
      const started = path.join(mkdtempSync(path.join(folder, 'started-')), 'sizes');
      readerThat(
        `const at = ${JSON.stringify(started)}; appendFileSync(at, input.bytes.length + ' starts '); const until = performance.now() + 300; while (performance.now() < until); appendFileSync(at, 'ends '); answer({ problem: 'read' })`,
        60_000,
        10_000,
        2,
      );
      const size = SERVER_LIMITS.maxReadBytesAtOnce - MANY.length + 1;
      const reads = [read(MANY), read('x'.repeat(size)), read(MANY)];
      for (const one of reads) expect(await readPid(one)).toBe('read');
      expect(readFileSync(started, 'utf8')).toBe(
        `${MANY.length} starts ends ${size} starts ends ${MANY.length} starts ends `,
      );
    });

    it('refuses only a catalog that exhausts its process, and reads those that run or wait', async () => {
      readerThat(
        `const all = []; if (input.bytes.length === ${MANY.length}) for (;;) all.push(new Array(100_000).fill(all.length));
         answer({ problem: 'read' })`,
        60_000,
        10_000,
        2,
      );
      const hostile = [read(MANY), read(MANY)];
      const good = Array.from({ length: 6 }, (_, at) => read(MANY + 'y'.repeat(at + 1)));
      for (const one of hostile) expect(await readPid(one)).toBe('it takes too much time or memory to read');
      for (const one of good) expect(await readPid(one)).toBe('read');
    });

    it('rejects running and waiting catalogs when it is closed', async () => {
      waiting();
      const reads = [read(MANY), read(MANY), read(MANY), read(FEW)];
      for (const one of reads) one.catch(() => undefined);
      await reader.close();
      for (const one of [...reads, read(FEW)]) await expect(one).rejects.toThrow();
    });
  });

  it.runIf(existsSync('/proc/self/status'))('replaces a process that has grown', async () => {
    const grow = `globalThis.kept = Buffer.alloc(input.bytes.length === 1 ? 1 : ${SERVER_LIMITS.reuseReadMegabytes} * 1_048_576, 1)`;
    readerThat(`${grow}; answer({ problem: String(process.pid) })`);
    const pid = async (text: string) => {
      const result = await read(text);
      return 'refused' in result ? result.refused.message : '';
    };
    const first = await pid('x');
    expect(await pid('x')).toBe(first);
    expect(await pid('grow')).toBe(first);
    expect(await pid('x')).not.toBe(first);
  });

  it.runIf(existsSync('/proc/self/oom_score_adj'))('is killed for memory before the registry', async () => {
    readerThat(`answer({ problem: readFileSync('/proc/self/oom_score_adj', 'utf8').trim() })`);
    expect(await read('x')).toMatchObject({ refused: { message: '1000' } });
  });

  it('starts at most one process early', async () => {
    const started = path.join(folder, 'started');
    const module = path.join(folder, 'ready.mjs');
    writeFileSync(
      module,
      `import { appendFileSync } from 'node:fs';
import { serialize } from 'node:v8';
import { respondToFrames } from ${JSON.stringify(frames)};
appendFileSync(${JSON.stringify(started)}, 'one ');
respondToFrames(() => serialize({ problem: 'read' }));`,
    );
    const starts = () => (existsSync(started) ? readFileSync(started, 'utf8') : '');
    reader = new UpstreamReader({ module });
    reader.warm();
    reader.warm();
    await expect.poll(starts).toBe('one ');
    expect(await read('x')).toMatchObject({ refused: { message: 'read' } });
    reader.warm();
    expect(await read('y')).toMatchObject({ refused: { message: 'read' } });
    expect(starts()).toBe('one ');
    await reader.close();
    reader.warm();
    expect(starts()).toBe('one ');
  });

  it('has an empty environment', async () => {
    readerThat(
      'answer({ problem: Object.keys(process.env).filter((name) => name.startsWith("KRMHUB_") || name === "HOME").join(",") + "none" })',
    );
    expect(await read('x')).toMatchObject({ refused: { message: 'none' } });
  });

  it.each([
    ['a number', 'process.exit(3)', /it exited with 3/],
    ['a fault', 'throw new Error("a fault")', /a fault/],
    ['a signal', 'process.kill(process.pid, "SIGSEGV")', /it exited with SIGSEGV/],
  ])('rejects a catalog that ends its process by %s, and logs the output', async (_, body, said) => {
    readerThat(body);
    expect(await read('x')).toEqual({
      refused: { problem: 'internal', message: 'cannot read it; see the log of the registry' },
    });
    expect(logged).toEqual([expect.stringMatching(said)]);
  });

  it('is canceled by a stop', async () => {
    readerThat('for (;;);');
    const reading = read('x');
    const waiting = read('y');
    reading.catch(() => undefined);
    waiting.catch(() => undefined);
    await reader.close();
    await expect(reading).rejects.toThrow();
    await expect(waiting).rejects.toThrow();
  });
});
