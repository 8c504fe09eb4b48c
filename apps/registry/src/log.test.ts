import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from './limits.js';
import { createLog, LogOutput, type LogStream } from './log.js';

/** The stdout of a process, which can be written again after an error. */
class Stdout extends EventEmitter implements LogStream {
  readonly writableLength = 0;
  readonly written: string[] = [];
  isFull = false;

  write(text: string, ...rest: unknown[]): boolean {
    const done = rest.at(-1) as (error?: Error) => void;
    const error = this.isFull ? Object.assign(new Error('full'), { code: 'ENOSPC' }) : undefined;
    if (error === undefined) this.written.push(text);
    else this.emit('error', error);
    done(error);
    return true;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a log', () => {
  it('drops and counts the lines that a full disk refuses, and says so when it has space again', () => {
    const stdout = new Stdout();
    const output = new LogOutput(stdout);
    const log = createLog('info', output);
    stdout.isFull = true;
    for (const message of ['one', 'two', 'three']) log.info(message);
    expect([stdout.written, output.dropped]).toEqual([[], 3]);
    stdout.isFull = false;
    log.info('four');
    log.info('five');
    // The failed write may have left half a line, which must not damage the next one.
    expect(stdout.written[0]).toMatch(/^\n\{.*four/);
    const [, four, warning, five] = stdout.written.join('').split('\n');
    expect([four, five].map((line) => JSON.parse(line!).msg)).toEqual(['four', 'five']);
    expect(JSON.parse(warning!)).toMatchObject({ level: 'warn', dropped: 3 });
    expect(output.dropped).toBe(3);
  });

  it('drops lines while nothing reads its pipe, and says how many when it is read again', async () => {
    const written: string[] = [];
    let read: () => void = () => undefined;
    const pipe = new Writable({
      write(chunk: Buffer, _encoding, done) {
        written.push(chunk.toString());
        read = done;
      },
    });
    const output = new LogOutput(pipe);
    const log = createLog('info', output);
    const line = 'x'.repeat(1_000);
    for (let at = 0; at < 2_000; at++) log.info(line);
    expect(pipe.writableLength).toBeLessThan(SERVER_LIMITS.maxWaitingLogBytes + 2_000);
    const lost = output.dropped;
    expect(lost).toBeGreaterThan(900);
    while (pipe.writableLength > 0) {
      read();
      await settled();
    }
    expect(JSON.parse(written.at(-1)!)).toMatchObject({ level: 'warn', dropped: lost });
    expect(written).toHaveLength(2_000 - lost + 1);
  });
});
