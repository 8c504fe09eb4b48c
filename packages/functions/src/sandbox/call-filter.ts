/**
 * The system calls that the sandbox refuses, as a program that bubblewrap gives to the kernel (seccomp). Namespaces hide
 * files, processes, and the network, but a program in them still talks to the whole kernel. No function needs these
 * calls: they are the ones with which programs left containers before, or which reach what no namespace separates, such
 * as keys of the user and the hypervisor. Container engines refuse nearly the same.
 *
 * A refused call fails with EPERM, as one without permission. `clone3` fails with ENOSYS, since a filter cannot read its
 * flags, and the C library then uses `clone`. A call of another architecture ends the program: its numbers mean others.
 */

/** Numbers on x86-64 and on arm64; undefined where the architecture does not have the call. */
type Numbers = readonly [x64: number, arm64?: number];

/** Calls that are always refused. */
export const REFUSED_CALLS: Readonly<Record<string, Numbers>> = {
  // Other processes, and their memory and files.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  move_pages: [279, 239],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  // Keys of the user, which no namespace separates.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Large interfaces of the kernel, with a history of faults.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  modify_ldt: [154],
  // Files by number, past the folders that hide them.
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  // Namespaces and mounts.
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  fanotify_init: [300, 262],
  // The machine.
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  adjtimex: [159, 171],
  clock_adjtime: [305, 266],
  syslog: [103, 116],
  iopl: [172],
  ioperm: [173],
  uselib: [134],
  vhangup: [153, 58],
  lookup_dcookie: [212, 18],
};

const CLONE: Numbers = [56, 220];
const CLONE3: Numbers = [435, 435];
const PERSONALITY: Numbers = [135, 92];
const SOCKET: Numbers = [41, 198];
const IOCTL: Numbers = [16, 29];

/** CLONE_NEW* in the flags of `clone`: mount, cgroup, UTS, IPC, user, PID, network. */
const NEW_NAMESPACES = 0x7e02_0000;
/** Linux and the query; others turn off what protects the memory of a program. */
const PERSONALITIES = [0, 0xffff_ffff];
/** AF_ALG, the kernel's cryptography, and AF_VSOCK, which reaches the hypervisor. */
const REFUSED_FAMILIES = [38, 40];
/** TIOCSTI and TIOCLINUX, which type into a terminal. */
const REFUSED_REQUESTS = [0x5412, 0x541c];

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64. */
const AUDIT = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
/** The x32 calls of x86-64 have this bit. */
const X32 = 0x4000_0000;

/** Offsets in `struct seccomp_data`. The low half of an argument comes first on both architectures. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const argument = (index: number) => 16 + 8 * index;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const fail = (errno: number) => 0x5_0000 | errno;
const EPERM = fail(1);
const ENOSYS = fail(38);

/** Instructions of classic BPF: opcode, the skips if true and if false, and the operand. */
type Instruction = readonly [code: number, skipIfTrue: number, skipIfFalse: number, operand: number];
const JUMP_IF_EQUAL = 0x15;
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const leave = (verdict: number): Instruction => [0x06, 0, 0, verdict];
/** `block` runs only if the loaded value equals the operand, has one of its bits, or is not below it. */
const ifEqual = (operand: number, block: readonly Instruction[]) => when(JUMP_IF_EQUAL, operand, block);
const ifAnyBit = (operand: number, block: readonly Instruction[]) => when(0x45, operand, block);
const ifAtLeast = (operand: number, block: readonly Instruction[]) => when(0x35, operand, block);

function when(code: number, operand: number, block: readonly Instruction[]): Instruction[] {
  return [[code, 0, block.length, operand], ...block];
}

/** Returns the filter for a `process.arch`, as bubblewrap reads it; undefined where krmhub has none. */
export function callFilter(architecture: string): Uint8Array | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined;
  const instructions = filterInstructions(architecture);
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, skipIfTrue, skipIfFalse, operand]] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(skipIfTrue, index * 8 + 2);
    bytes.writeUInt8(skipIfFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand, index * 8 + 4);
  }
  return bytes;
}

function filterInstructions(architecture: keyof typeof AUDIT): Instruction[] {
  const call = ([x64, arm64]: Numbers, block: readonly Instruction[]) => {
    const number = architecture === 'x64' ? x64 : arm64;
    return number === undefined ? [] : ifEqual(number, block);
  };
  const allow = leave(ALLOW);
  const refuse = [leave(EPERM)];
  const ifAny = (values: readonly number[], block: readonly Instruction[]) =>
    values.flatMap((value) => ifEqual(value, block));
  return [
    load(ARCHITECTURE),
    [JUMP_IF_EQUAL, 1, 0, AUDIT[architecture]],
    leave(KILL_PROCESS),
    load(NUMBER),
    ...(architecture === 'x64' ? ifAtLeast(X32, refuse) : []),
    ...Object.values(REFUSED_CALLS).flatMap((numbers) => call(numbers, refuse)),
    ...call(CLONE3, [leave(ENOSYS)]),
    ...call(CLONE, [load(argument(0)), ...ifAnyBit(NEW_NAMESPACES, refuse), allow]),
    ...call(PERSONALITY, [load(argument(0)), ...ifAny(PERSONALITIES, [allow]), ...refuse]),
    ...call(SOCKET, [load(argument(0)), ...ifAny(REFUSED_FAMILIES, refuse), allow]),
    ...call(IOCTL, [load(argument(1)), ...ifAny(REFUSED_REQUESTS, refuse), allow]),
    allow,
  ];
}
