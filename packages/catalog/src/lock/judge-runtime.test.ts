import type { FunctionRuntime } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { PinnedContainer } from '../runtimes/container.js';
import type { PinnedExec } from '../runtimes/exec.js';
import type { PinnedRuntime } from '../runtimes/runtimes.js';
import { sampleDigest } from '../testing/locks.js';
import { lockedRuntimeDifference } from './judge-runtime.js';

const hex = (digit: string) => sampleDigest(digit).slice('sha256:'.length);
const container = (fields: Partial<PinnedContainer> = {}): PinnedContainer => ({
  type: 'container',
  image: `hub.example.com/fn/java@${sampleDigest('a')}`,
  network: false,
  storage: false,
  ...fields,
});
const declared = (image: string, fields: Partial<FunctionRuntime['container']> = {}): FunctionRuntime => ({
  container: { image, ...fields },
});
const byDigest = declared('hub.example.com/fn/java:v1', { sha256: hex('a') });
const byTag = declared('hub.example.com/fn/java:v1');

describe('a locked image beside the declared one', () => {
  it.each<[string, FunctionRuntime]>([
    ['a digest beside the reference', byDigest],
    ['a digest in the reference', declared(`hub.example.com/fn/java@${sampleDigest('a')}`)],
    ['a tag, which the lock resolved', byTag],
    ['no tag', declared('hub.example.com/fn/java')],
  ])('follows from %s', (_, runtime) => {
    expect(lockedRuntimeDifference(container(), runtime)).toBeUndefined();
  });

  it.each<[string, FunctionRuntime, string]>([
    ['another digest', byDigest, `hub.example.com/fn/java@${sampleDigest('e')}`],
    ['another repository by digest', byDigest, `evil.example.com/fn/java@${sampleDigest('a')}`],
    ['another repository for a tag', byTag, `hub.example.com/fn/evil@${sampleDigest('a')}`],
    ['another host for a tag', byTag, `evil.example.com/fn/java@${sampleDigest('a')}`],
    ['another port for a tag', byTag, `hub.example.com:444/fn/java@${sampleDigest('a')}`],
    ['a longer name for a tag', byTag, `hub.example.com/fn/java/x@${sampleDigest('a')}`],
    ['upper case in the host', byTag, `HUB.example.com/fn/java@${sampleDigest('a')}`],
    ['a tag beside the digest', byTag, `hub.example.com/fn/java:v1@${sampleDigest('a')}`],
    ['a bare name', declared('java'), `java@${sampleDigest('a')}`],
  ])('is refused with %s', (_, runtime, image) => {
    expect(lockedRuntimeDifference(container({ image }), runtime)).toContain(
      `the image is ${image}, expected`,
    );
  });

  it('of Docker Hub has its full name', () => {
    const image = `docker.io/library/java@${sampleDigest('a')}`;
    expect(lockedRuntimeDifference(container({ image }), declared('java:v1'))).toBeUndefined();
  });

  it.each([byDigest, byTag])('needs no more than is declared', (runtime) => {
    expect(lockedRuntimeDifference(container({ network: true }), runtime)).toMatch(
      /network.*definition does not/,
    );
    expect(lockedRuntimeDifference(container({ storage: true }), runtime)).toMatch(
      /mounts.*definition does not/,
    );
    const more = {
      container: { ...runtime.container!, requireNetwork: true, requireStorageMount: true },
    };
    expect(lockedRuntimeDifference(container({ network: true, storage: true }), more)).toBeUndefined();
    expect(lockedRuntimeDifference(container(), more)).toBeUndefined();
  });

  it('may be in another place than a signed definition says, but only by digest', () => {
    const image = `mirror.example.com/java@${sampleDigest('a')}`;
    const difference = (runtime: FunctionRuntime, one = image) =>
      lockedRuntimeDifference(container({ image: one }), runtime, { anyPlace: true });
    expect(difference(byDigest)).toBeUndefined();
    expect(difference(byDigest, `mirror.example.com/java@${sampleDigest('e')}`)).toContain('the image is');
    expect(difference(byTag)).toContain('the image is');
  });
});

describe('another locked runtime beside the declared one', () => {
  const linux = { os: 'linux', arch: 'amd64', bin: 'java', uri: 'https://example.com/java.tgz' } as const;
  const locked: PinnedExec = { type: 'exec', platforms: [{ ...linux, sha256: sampleDigest('a') }] };
  const runtime: FunctionRuntime = { exec: { platforms: [{ ...linux, sha256: hex('a') }] } };

  it('has the declared executables', () => {
    expect(lockedRuntimeDifference(locked, runtime)).toBeUndefined();
    const change = (fields: Partial<PinnedExec['platforms'][0]>): PinnedRuntime => ({
      type: 'exec',
      platforms: [{ ...locked.platforms[0]!, ...fields }],
    });
    expect(lockedRuntimeDifference(change({ sha256: sampleDigest('e') }), runtime)).toContain(
      'has the digest',
    );
    expect(lockedRuntimeDifference(change({ bin: 'sh' }), runtime)).toContain('is sh, expected java');
    expect(lockedRuntimeDifference(change({ arch: 'arm64' }), runtime)).toContain('linux/arm64');
    const moved = change({ uri: 'https://evil.example.com/java.tgz' });
    expect(lockedRuntimeDifference(moved, runtime)).toContain('is at https://evil.example.com');
    expect(lockedRuntimeDifference(moved, runtime, { anyPlace: true })).toBeUndefined();
    const more = {
      ...locked,
      platforms: [...locked.platforms, { ...locked.platforms[0]!, os: 'darwin' as const }],
    };
    expect(lockedRuntimeDifference(more, runtime)).toContain(
      'the definition has no executable for darwin/amd64',
    );
    expect(lockedRuntimeDifference({ type: 'exec', platforms: [] }, runtime)).toContain('is missing');
  });

  it('is of a kind that is declared', () => {
    expect(lockedRuntimeDifference(locked, byDigest)).toContain('no exec runtime');
    expect(lockedRuntimeDifference(container(), runtime)).toContain('no container runtime');
  });

  it('has the declared script', () => {
    const script = `oci://hub.example.com/fn/star@${sampleDigest('a')}`;
    const one = { type: 'starlark', reference: script, sha256: sampleDigest('a') } as const;
    expect(lockedRuntimeDifference(one, { starlark: script })).toBeUndefined();
    const evil = { ...one, reference: 'https://evil.example.com/x.star' };
    expect(lockedRuntimeDifference(evil, { starlark: script })).toContain('the script is');
    expect(lockedRuntimeDifference(evil, { starlark: script }, { anyPlace: true })).toBeUndefined();
    const other = { ...one, sha256: sampleDigest('b') };
    expect(lockedRuntimeDifference(other, { starlark: script }, { anyPlace: true })).toContain(
      'has the digest',
    );
    expect(lockedRuntimeDifference(one, { starlark: 'https://example.com/x.star' })).toContain('no digest');
  });
});
