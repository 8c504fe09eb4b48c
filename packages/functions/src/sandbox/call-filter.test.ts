import { describe, expect, it } from 'vitest';
import { callFilter, REFUSED_CALLS } from './call-filter.js';

/** Runs the filter as the kernel would, for a call. */
function verdict(
  filter: Uint8Array,
  call: { arch: number; number: number; args?: readonly number[] },
): number {
  const { arch, number, args = [] } = call;
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(arch, 4);
  for (const [index, arg] of args.entries()) data.writeBigUInt64LE(BigInt(arg), 16 + 8 * index);
  const program = Buffer.from(filter);
  let loaded = 0;
  for (let at = 0; at * 8 < program.length; at++) {
    const operand = program.readUInt32LE(at * 8 + 4);
    const code = program.readUInt16LE(at * 8);
    if (code === 0x06) return operand;
    if (code === 0x20) loaded = data.readUInt32LE(operand);
    else {
      const holds = { 21: loaded === operand, 53: loaded >= operand, 69: (loaded & operand) !== 0 }[code];
      if (holds === undefined) throw new Error(`unknown instruction ${code}`);
      at += program.readUInt8(at * 8 + (holds ? 2 : 3));
    }
  }
  throw new Error('the filter has no end');
}

const [ALLOW, EPERM, ENOSYS, KILL] = [0x7fff_0000, 0x5_0001, 0x5_0026, 0x8000_0000];
const X64 = {
  arch: 0xc000_003e,
  index: 0,
  name: 'x64',
  clone: 56,
  clone3: 435,
  personality: 135,
  socket: 41,
  ioctl: 16,
};
const ARM = {
  arch: 0xc000_00b7,
  index: 1,
  name: 'arm64',
  clone: 220,
  clone3: 435,
  personality: 92,
  socket: 198,
  ioctl: 29,
};

describe.each([X64, ARM])('the filter of $name', ({ arch, index, name, ...calls }) => {
  const filter = callFilter(name)!;
  const judge = (number: number, ...args: number[]) => verdict(filter, { arch, number, args });

  it('refuses the calls of the list, and no other number', () => {
    const refused = new Set(Object.values(REFUSED_CALLS).flatMap((numbers) => numbers[index] ?? []));
    for (let number = 0; number < 1_000; number++) {
      const expected = refused.has(number) ? EPERM : ALLOW;
      if (number === calls.clone3) expect(judge(number)).toBe(ENOSYS);
      else expect([number, judge(number)]).toEqual([number, expected]);
    }
  });

  it('refuses new namespaces, and no thread or process', () => {
    // CLONE_VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | SETTLS | PARENT_SETTID | CHILD_CLEARTID, and SIGCHLD.
    for (const flags of [0x003d_0f00, 0x11]) {
      expect(judge(calls.clone, flags)).toBe(ALLOW);
      for (const bit of [17, 25, 26, 27, 28, 29, 30])
        expect(judge(calls.clone, flags + 2 ** bit)).toBe(EPERM);
    }
  });

  it('looks at the personality, the family of a socket, and the request to a device', () => {
    expect([0, 0xffff_ffff, 0x4_0000].map((one) => judge(calls.personality, one))).toEqual([
      ALLOW,
      ALLOW,
      EPERM,
    ]);
    expect([1, 2, 10, 38, 40].map((one) => judge(calls.socket, one))).toEqual([
      ALLOW,
      ALLOW,
      ALLOW,
      EPERM,
      EPERM,
    ]);
    expect([0x5401, 0x5412, 0x541c].map((one) => judge(calls.ioctl, 1, one))).toEqual([ALLOW, EPERM, EPERM]);
    // The kernel looks at the low half only.
    expect(judge(calls.ioctl, 1, 2 ** 32 + 0x5412)).toBe(EPERM);
  });

  it('ends a program that makes calls of another architecture', () => {
    const others = [0x4000_0003, 0x4000_0028, X64.arch, ARM.arch].filter((other) => other !== arch);
    for (const other of others) expect(verdict(filter, { arch: other, number: 1 })).toBe(KILL);
  });
});

it('refuses the x32 calls of x86-64', () => {
  expect(verdict(callFilter('x64')!, { arch: X64.arch, number: 0x4000_0001 })).toBe(EPERM);
});

it('has no filter for other architectures', () => {
  expect(callFilter('s390x')).toBeUndefined();
});
