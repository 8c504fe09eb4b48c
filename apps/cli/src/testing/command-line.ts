/**
 * Helpers for tests: commands in the process of the test, registries, packages, images, and keys.
 *
 * A command gets captured streams, and a registry runs in the thread of the test on the loopback interface.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { RegistryClient } from '@krmhub/api/client';
import { createLog, readConfig, startRegistry } from '@krmhub/registry';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import type { Input, Io, Output } from '../io/io.js';
import { runProgram } from '../program.js';

export interface TestIoOptions {
  /** Whether all three streams are a terminal. */
  tty?: boolean;
  columns?: number;
  /** What stdin holds; nothing by default. */
  stdin?: string | Uint8Array;
  /** The whole environment, besides a HOME that is not there, or has only what belongs to the cache. */
  env?: Record<string, string>;
  cwd?: string;
  /** The clock; that of the machine by default. */
  now?: () => Date;
}

export interface TestIo extends Io {
  /** What was printed so far. */
  out(): string;
  err(): string;
  /** The exact bytes of stdout. */
  outBytes(): Uint8Array;
  /** Lets `waitForStop` resolve. */
  stop(): void;
}

export function testIo(options: TestIoOptions = {}): TestIo {
  const { tty = false, columns = 80, stdin = '', cwd = tmpdir(), now = () => new Date() } = options;
  const stdout = captured(tty, columns);
  const stderr = captured(tty, columns);
  let stop: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  return {
    stdin: createInput(stdin, tty),
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: { HOME: homeOf(options.env?.KRMHUB_CACHE), ...options.env },
    cwd,
    exitCode: 0,
    now,
    setUmask: () => undefined,
    parentId: () => 1,
    waitForStop: () => stopped,
    out: () => stdout.bytes().toString('utf8'),
    err: () => stderr.bytes().toString('utf8'),
    outBytes: stdout.bytes,
    stop,
  };
}

/** Who has the same cache is the same user, on the same machine. */
function homeOf(cache: string | undefined): string {
  const name = cache === undefined ? randomUUID() : sha256(Buffer.from(cache)).slice('sha256:'.length);
  return path.join(tmpdir(), `krmhub-no-home-${name}`);
}

/** Runs a command line to its end and gives what it printed and its exit code. */
export async function runTest(args: readonly string[], options: TestIoOptions = {}): Promise<TestIo> {
  const io = testIo(options);
  await runProgram(args, io);
  return io;
}

/** Expects that a command ended with this exit code, and that stderr has this text, if one is given. */
export function expectEnd(io: TestIo, exitCode: number, text = ''): void {
  expect([io.exitCode, io.err()]).toEqual([exitCode, expect.stringContaining(text)]);
}

function createInput(content: string | Uint8Array, tty: boolean): Input {
  const stream: Input = Readable.from(content.length === 0 ? [] : [Buffer.from(content as string)]);
  if (tty) {
    stream.isTTY = true;
    stream.setRawMode = () => stream;
  }
  return stream;
}

function captured(tty: boolean, columns: number): { stream: Output; bytes: () => Buffer } {
  const chunks: Buffer[] = [];
  const stream: Output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  if (tty) {
    stream.isTTY = true;
    stream.columns = columns;
  }
  return { stream, bytes: () => Buffer.concat(chunks) };
}

/** An empty folder. It is removed at the end of the run, with all that `tmpdir` has then. */
export function temporaryFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'krmhub-cli-'));
}

export interface TestRegistry {
  url: string;
  /** The first admin token. */
  token: string;
  /** The environment in which commands talk to it as its administrator. */
  env: { KRMHUB_REGISTRY: string; KRMHUB_TOKEN: string };
  close(): Promise<void>;
}

/** Waits for the first snapshot of `default`, so that the first publish is in the second one. */
export async function firstSnapshot(url: string): Promise<void> {
  const client = new RegistryClient({ url });
  // Not `expect.poll`, which hooks cannot call.
  const exists = async () => (await client.snapshots('default')).snapshots.length > 0;
  await vi.waitUntil(exists, { timeout: 300_000, interval: 50 });
}

/**
 * A real registry on a free port of the loopback interface, with a folder of its own and settings of `env`. It works
 * in the thread of the test: most of the time of a start would be that of its threads, which `krmhub serve` has.
 */
export async function testRegistry(env: Record<string, string> = {}): Promise<TestRegistry> {
  const folder = temporaryFolder();
  const registry = await startRegistry({
    config: readConfig(env, { host: '127.0.0.1', port: '0', data: folder }),
    log: createLog('silent', { write: () => undefined }),
    inThread: { random: Math.random, start: true },
  });
  const token = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  return {
    url: registry.url,
    token,
    env: { KRMHUB_REGISTRY: registry.url, KRMHUB_TOKEN: token },
    close: async () => {
      await registry.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A registry that runs during the tests of the file, or of the suite, that calls this; until then it is empty. */
export function fileRegistry(env: Record<string, string> = {}): TestRegistry {
  const registry = {} as TestRegistry;
  beforeAll(async () => {
    Object.assign(registry, await testRegistry(env));
  });
  afterAll(() => registry.close());
  return registry;
}
