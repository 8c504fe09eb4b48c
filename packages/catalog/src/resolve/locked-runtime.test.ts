import type { Digest, FunctionRuntime } from '@krmhub/schema';
import { expect, it } from 'vitest';
import { lockedRuntimeProblem } from './locked-runtime.js';
import type { PinnedRuntime } from './runtimes.js';

const A = `sha256:${'a'.repeat(64)}` as Digest;
const B = `sha256:${'b'.repeat(64)}` as Digest;
const NAME = 'registry.example.com/java';

const container = (more: object = {}): PinnedRuntime => ({
  type: 'container',
  image: `${NAME}@${A}`,
  network: false,
  storage: false,
  ...more,
});
const pinned: FunctionRuntime = { container: { image: `${NAME}:v1`, sha256: 'a'.repeat(64) } };
const tagged: FunctionRuntime = { container: { image: `${NAME}:v1` } };
const platform = { os: 'linux', arch: 'amd64', bin: 'java', uri: 'https://example.com/java' } as const;
const exec = (more: object = {}): PinnedRuntime => ({
  type: 'exec',
  platforms: [{ ...platform, sha256: A, ...more }],
});
const program: FunctionRuntime = { exec: { platforms: [{ ...platform, sha256: 'a'.repeat(64) }] } };
const starlark: PinnedRuntime = { type: 'starlark', reference: 'https://example.com/java.star' };

it.each([
  ['the image', container(), pinned],
  ['the image at a mirror', container({ image: `mirror.example.com/java@${A}` }), pinned],
  ['the image with its platforms', container({ platforms: { 'linux/amd64': B } }), pinned],
  ['any digest of the same image', container({ image: `${NAME}@${B}` }), tagged],
  [
    'what the definition declares',
    container({ network: true }),
    { container: { ...pinned.container!, requireNetwork: true } },
  ],
  ['the executable', exec(), program],
  ['the executable at a mirror', exec({ uri: 'https://mirror.example.com/java' }), program],
  ['the script', starlark, { starlark: 'https://example.com/java.star' }],
])('takes %s', (_, locked, runtime) => {
  expect(lockedRuntimeProblem(locked, runtime)).toBeUndefined();
});

it.each([
  ['another digest', container({ image: `${NAME}@${B}` }), pinned, `its image has not the digest ${A}`],
  [
    'another image for a tag',
    container({ image: `evil.example.com/java@${A}` }),
    tagged,
    `its image is not ${NAME}`,
  ],
  ['the network', container({ network: true }), pinned, 'it needs the network otherwise than declared'],
  ['mounts', container({ storage: true }), tagged, 'it needs mounts otherwise than declared'],
  [
    'another executable',
    exec({ sha256: B }),
    program,
    `its executable for linux/amd64 has not the digest ${A}`,
  ],
  ['another file of an archive', exec({ bin: 'evil' }), program, 'is not java'],
  ['another platform', exec({ arch: 'arm64' }), program, 'the definition has no executable for linux/arm64'],
  ['another kind of runtime', exec(), pinned, 'it has no exec runtime, only container'],
  [
    'another script',
    { ...starlark, reference: 'https://evil.example.com/x' },
    { starlark: 'https://example.com/java.star' },
    'its script is not',
  ],
] as const)('refuses %s', (_, locked, runtime, reason) => {
  expect(lockedRuntimeProblem(locked as PinnedRuntime, runtime)).toContain(reason);
});
