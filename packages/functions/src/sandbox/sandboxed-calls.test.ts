import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { constants, release, tmpdir } from 'node:os';
import path from 'node:path';
import type { Digest } from '@krmhub/schema/digest';
import { describe, expect, it } from 'vitest';
import { installExecutable } from '../executables/install-executable.js';
import { runExecutable } from '../executables/run-executable.js';
import { DEFAULT_RUN_LIMITS } from '../limits.js';
import type { RunResult } from '../output/run-result.js';
import { runProgram } from '../process/run-program.js';
import { sampleInput } from '../testing/runtime-contract.js';
import { findSandbox, type Sandbox, sandboxArguments } from './bubblewrap.js';
import { REFUSED_CALLS } from './call-filter.js';

/** Real programs in bubblewrap that make the system calls which its filter refuses. */

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-calls-'));
const found = await findSandbox({ PATH: process.env.PATH });
const isX64 = process.arch === 'x64';
const { EPERM, EAFNOSUPPORT } = constants.errno;

const run = async (program: string | Uint8Array, sandbox: Sandbox): Promise<RunResult> => {
  const bin = `function-${randomUUID()}`;
  const source = path.join(folder, bin);
  writeFileSync(source, program);
  const sha256: Digest = `sha256:${createHash('sha256').update(program).digest('hex')}`;
  const installed = await installExecutable({ file: source, sha256, bin }, `${source}.installed`);
  const env = { PATH: '/usr/bin:/bin' };
  const input = sampleInput('echo');
  return runExecutable(
    { ...installed, cwd: folder, env, network: false, sandbox },
    input,
    DEFAULT_RUN_LIMITS,
  );
};

/** The error of each call, written as its number and its arguments; 0 if it works. */
async function errors(calls: readonly (readonly number[])[], sandbox: Sandbox): Promise<number[]> {
  const words = calls.map((call) => [...call, 0, 0, 0, 0, 0, 0].slice(0, 7).join(','));
  const script = `#!/usr/bin/perl\nfor (qw(${words.join(' ')})) { my ($call, @args) = map { $_ + 0 } split /,/; $! = 0; syscall($call, @args); printf STDERR "%d ", $!; }\nexit 1;\n`;
  const { stderr } = await run(script, sandbox);
  return Buffer.from(stderr).toString().trim().split(' ').map(Number);
}

async function end(program: Uint8Array, sandbox: Sandbox): Promise<string> {
  return run(program, sandbox).then(
    ({ exitCode }) => `exited with ${exitCode}`,
    (error: Error) => error.message.replace(/^function \S+ /, ''),
  );
}

describe.skipIf(!found.ok || !found.sandbox.filtersCalls)('a function in the sandbox', () => {
  const sandbox = (found as { sandbox: Sandbox }).sandbox;
  const hasPerl = existsSync('/usr/bin/perl');

  it.skipIf(!hasPerl)('gets EPERM from every call of the list', async () => {
    const calls = Object.values(REFUSED_CALLS).flatMap((numbers) => numbers[isX64 ? 0 : 1] ?? []);
    const result = await errors(
      calls.map((number) => [number]),
      sandbox,
    );
    expect(result).toEqual(calls.map(() => EPERM));
  });

  it.skipIf(!hasPerl)('gets it from the filter, not from something else', async () => {
    const [ptrace, unshare, socket] = isX64 ? [101, 272, 41] : [117, 97, 198];
    // Asks to be traced; asks for no new namespace; a socket of the hypervisor, and one of a family that has none.
    const calls = [[ptrace], [unshare], [socket, 40, 1], [socket, 99, 1]];
    expect(await errors(calls, sandbox)).toEqual([EPERM, EPERM, EPERM, EAFNOSUPPORT]);
    const [traced, unshared] = await errors(calls, { ...sandbox, filtersCalls: false });
    expect([traced, unshared]).toEqual([0, 0]);
  });

  it.skipIf(!isX64)('is killed if it makes calls of another architecture', async () => {
    // getpid() as 32-bit programs call it, then exit_group(9).
    const program = elf([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xb8, 231, 0, 0, 0, 0xbf, 9, 0, 0, 0, 0x0f, 0x05]);
    // Some kernels have no 32-bit calls.
    const plain = await end(program, { ...sandbox, filtersCalls: false });
    expect(['exited with 9', 'was killed by SIGSEGV']).toContain(plain);
    expect(await end(program, sandbox)).toBe(plain === 'exited with 9' ? 'was killed by SIGSYS' : plain);
  });
});

const limitsProcesses = found.ok && /^(?:[6-9]|\d\d|5\.(?:1[4-9]|[2-9]\d))\b/.test(release());

describe.skipIf(!limitsProcesses)('the processes of a function in the sandbox', () => {
  const sandbox = (found as { sandbox: Sandbox }).sandbox;

  it('have a limit', async () => {
    const { stderr } = await run('#!/bin/sh\ngrep "Max processes" /proc/self/limits >&2\nexit 1\n', sandbox);
    expect(Buffer.from(stderr).toString()).toMatch(/^Max processes +2048 +2048 /);
  });

  const isRoot = process.getuid?.() === 0;
  it.skipIf(!existsSync('/usr/bin/perl') || (isRoot && !existsSync('/usr/bin/setpriv')))(
    'are counted without those of the user outside',
    async () => {
      const count =
        'my $n = 0; while ($n < 3000 && defined(my $p = fork)) { if (!$p) { sleep 60; exit } $n++ } print $n';
      const command = { file: '/usr/bin/perl', args: ['-e', count], cwd: '/', env: {}, network: false };
      const args = await sandboxArguments({ ...sandbox, filtersCalls: false }, command);
      // The kernel limits everyone but root.
      const user = isRoot ? ['/usr/bin/setpriv', '--reuid', '65534', '--clear-groups'] : [];
      const outside = ['/bin/sh', '-c', 'for i in $(seq 20); do sleep 60 & done; exec "$@"', 'sh'];
      const [program, ...rest] = [...user, ...outside, sandbox.program, ...args];
      const { output } = await runProgram({
        program: program!,
        args: rest,
        env: { PATH: '/usr/bin:/bin' },
        cwd: '/',
        limits: DEFAULT_RUN_LIMITS,
      });
      const started = Number(Buffer.from(output).toString());
      expect(started).toBeGreaterThan(2_040);
      expect(started).toBeLessThan(2_048);
    },
  );
});

/** The smallest static program of x86-64 that runs this machine code. */
function elf(code: readonly number[]): Uint8Array {
  const [start, headers] = [0x40_0000, 64 + 56];
  const bytes = Buffer.alloc(headers + code.length);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  bytes.writeUInt16LE(2, 16);
  bytes.writeUInt16LE(62, 18);
  bytes.writeUInt32LE(1, 20);
  bytes.writeBigUInt64LE(BigInt(start + headers), 24);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(64, 52);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(1, 64);
  bytes.writeUInt32LE(5, 68);
  for (const at of [80, 88]) bytes.writeBigUInt64LE(BigInt(start), at);
  for (const at of [96, 104]) bytes.writeBigUInt64LE(BigInt(bytes.length), at);
  bytes.writeBigUInt64LE(0x1000n, 112);
  bytes.set(code, headers);
  return bytes;
}
