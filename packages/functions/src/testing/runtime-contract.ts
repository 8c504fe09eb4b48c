/**
 * Tests that every runtime must pass, and sample archives and packages.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { defined } from '@krmhub/schema/defined';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_RUN_LIMITS, FUNCTION_LIMITS, type RunLimits } from '../limits.js';
import { FunctionFailure } from '../output/function-failure.js';
import type { RunResult } from '../output/run-result.js';

/** One run of the sample function. */
export interface SampleRun {
  input: Uint8Array;
  limits: RunLimits;
  env: Record<string, string>;
  network: boolean;
  signal?: AbortSignal;
}

/** A runtime that runs the sample function (`sample-function.mjs`, or a program that does the same). */
export interface TestedRuntime {
  run(run: SampleRun): Promise<RunResult>;
  /** Everything that is left of runs that have ended: processes, containers, files. */
  leftovers(): Promise<string[]>;
  /** Ends processes that the runtime does not find. */
  endEscaped(): void;
  /** What the runtime itself adds to the environment. */
  ownEnvironment: readonly string[];
  /** What not every runtime can do. */
  holds: {
    /** Takes the network away. */
    network: boolean;
    /** Ends processes that left their process group. */
    escapedProcesses: boolean;
    /** Limits the size of files. */
    files: boolean;
    /** Reports the signal that ended the function. */
    signals: boolean;
  };
  close(): Promise<void>;
}

/** What every runtime must do. `reason`: why it cannot be tested here. */
export function testRuntime(name: string, open: () => Promise<TestedRuntime>, reason?: string): void {
  const title = reason === undefined ? name : `${name} (skipped: ${reason})`;
  describe.skipIf(reason !== undefined)(title, () => {
    let runtime: TestedRuntime;
    beforeAll(async () => {
      runtime = await open();
    });
    afterAll(() => runtime?.close());

    const run = (
      action: string,
      more: {
        config?: object;
        limits?: Partial<RunLimits>;
        env?: Record<string, string>;
        network?: boolean;
        signal?: AbortSignal;
        padding?: string;
      } = {},
    ) =>
      runtime.run({
        input: sampleInput(action, more.config, more.padding),
        limits: { ...DEFAULT_RUN_LIMITS, ...more.limits },
        env: more.env ?? {},
        network: more.network ?? false,
        ...defined({ signal: more.signal }),
      });
    const failure = async (ran: Promise<unknown>) => {
      const error = await ran.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(FunctionFailure);
      return error as FunctionFailure;
    };
    const expectNothingLeft = () => expect.poll(() => runtime.leftovers()).toEqual([]);

    it('passes bytes in and out unchanged', async () => {
      const padding = randomBytes(500_000).toString('base64');
      const result = await run('echo', { padding });
      expect(Buffer.from(result.output).equals(sampleInput('echo', {}, padding))).toBe(true);
      expect(result).toMatchObject({ exitCode: 0, results: [], stderrTruncated: false });
      await expectNothingLeft();
    });

    it('returns the exit code and error output of a function that fails', async () => {
      const result = await run('fail');
      expect(result.exitCode).toBe(3);
      expect(Buffer.from(result.stderr).toString()).toContain('it failed');
      expect(result.output.byteLength).toBeGreaterThan(0);
    });

    it('returns results', async () => {
      expect((await run('results')).results).toEqual([
        { message: 'too many replicas', severity: 'warning', field: { path: 'spec.replicas' } },
      ]);
    });

    it.each([
      ['documents', /not a ResourceList: it is 2 YAML documents, the first of them a ConfigMap$/],
      ['text', /not a ResourceList: it is text that contains "starting the function"$/],
      ['unnamed', /not a ResourceList: it is a ResourceList without `items`$/],
    ])('rejects the output of %s', async (action, message) => {
      const error = await failure(run(action));
      expect(error.message).toMatch(message);
      expect(error).toMatchObject({ code: 'function-failed', exitCode: 0 });
    });

    it('accepts no output of a function that got no resources, and rejects it otherwise', async () => {
      const error = await failure(run('silent', { padding: 'x' }));
      expect(error.message).toMatch(/exited with 0, but it wrote no output$/);
      const { output, results } = await run('silent');
      expect([output.byteLength, results]).toEqual([0, []]);
    });

    it('ends a function that writes without an end', async () => {
      const error = await failure(run('endless', { limits: { maxOutputBytes: 1_000_000 } }));
      expect(error.message).toMatch(/wrote more than 1000000 bytes to standard output$/);
      await expectNothingLeft();
    });

    it('reads a flood of error output and returns its start', async () => {
      const result = await run('flood', { limits: { maxStderrBytes: 100_000 } });
      expect(result).toMatchObject({ exitCode: 0, stderrTruncated: true });
      expect(Buffer.from(result.stderr).toString()).toBe('x'.repeat(100_000));
      expect(Buffer.from(result.output).equals(sampleInput('flood'))).toBe(true);
    });

    it('gives the function only its own environment', async () => {
      const { output } = await run('environment', { env: { GREETING: 'hello = "world"\n' } });
      const [{ data }] = JSON.parse(Buffer.from(output).toString()).items as [
        { data: Record<string, string> },
      ];
      const { GREETING, ...others } = data;
      expect(GREETING).toBe('hello = "world"\n');
      expect(Object.keys(others).filter((key) => !runtime.ownEnvironment.includes(key))).toEqual([]);
    });

    it('ends functions that ignore SIGTERM at their timeout, with their processes', async () => {
      const limits = { timeout: 3_000 };
      const runs = ['hang', 'fork'].map((action) => failure(run(action, { limits })));
      for (const { message } of await Promise.all(runs)) {
        expect(message).toMatch(/did not exit within 3 seconds$/);
      }
      await expectNothingLeft();
    });

    it('ends processes that the function left behind', async () => {
      const result = await run('leave');
      expect(Buffer.from(result.output).equals(sampleInput('leave'))).toBe(true);
      await expectNothingLeft();
    });

    it('ends processes that left their group, or reports that they hold the output', async () => {
      if (runtime.holds.escapedProcesses) {
        await run('escape');
        await expectNothingLeft();
        await run('keep');
        await expectNothingLeft();
      } else {
        expect((await failure(run('keep'))).message).toMatch(
          /exited, but one of its processes still has the standard output open$/,
        );
        runtime.endEscaped();
        await expectNothingLeft();
      }
    });

    it('ends when it is aborted, with the reason', async () => {
      const controller = new AbortController();
      const reason = new Error('interrupted');
      const ran = run('fork', { signal: controller.signal });
      ran.catch(() => undefined);
      await expect.poll(async () => (await runtime.leftovers()).join('\n')).toMatch(/ child$/m);
      controller.abort(reason);
      await expect(ran).rejects.toBe(reason);
      await expectNothingLeft();
      await expect(run('echo', { signal: controller.signal })).rejects.toBe(reason);
    });

    it('limits the size of files', async () => {
      if (!runtime.holds.files) return;
      const { results } = await run('fill', { config: { bytes: FUNCTION_LIMITS.maxFileBytes + 1 } });
      expect(results).toEqual([{ message: 'EFBIG' }]);
      await expectNothingLeft();
    });

    it('reports the signal that ended the function', async () => {
      if (!runtime.holds.signals) return;
      expect((await failure(run('crash'))).message).toMatch(/was killed by SIGSEGV$/);
    });

    it('has a network only if it is allowed', async () => {
      const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      try {
        const [allowed] = (await run('connect', { config: { port }, network: true })).results;
        expect(allowed).toEqual({ message: 'connected' });
        if (!runtime.holds.network) return;
        const [refused] = (await run('connect', { config: { port } })).results;
        expect(refused).toEqual({ message: 'ECONNREFUSED' });
      } finally {
        server.close();
      }
    });
  });
}

/** A ResourceList that tells the sample function what to do. */
export function sampleInput(action: string, config: object = {}, padding = ''): Buffer {
  const items = padding === '' ? [] : [{ data: padding }];
  return Buffer.from(
    JSON.stringify({
      apiVersion: 'config.kubernetes.io/v1',
      kind: 'ResourceList',
      items,
      functionConfig: { action, ...config },
    }),
  );
}

/** The command lines of all processes that contain a text. */
export function processesWith(text: string): string[] {
  if (!existsSync('/proc')) throw new Error('processes are listed only on Linux');
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return command.includes(text) ? [`${pid} ${command}`] : [];
    } catch {
      // The process has ended.
      return [];
    }
  });
}
