import type { FunctionVersion } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { runtimePins, scriptPins } from './runtime-pins.js';

const digits = (character: string) => character.repeat(64);
const digest = (character: string) => `sha256:${digits(character)}`;
const definition = (...runtimes: object[]) => ({
  versions: runtimes.map((runtime) => ({ runtime }) as FunctionVersion),
});
const pins = (...runtimes: object[]) => runtimePins(definition(...runtimes));

describe('what the runtimes of a definition name', () => {
  it('is the digest of an image, in its reference and beside it', () => {
    const image = 'example.com/fn:v1';
    expect(pins({ container: { image, sha256: digits('a') } })).toEqual([digest('a')]);
    expect(pins({ container: { image: `${image}@${digest('b')}` } })).toEqual([digest('b')]);
    expect(pins({ container: { image: `${image}@${digest('b')}`, sha256: digits('b') } })).toEqual([
      digest('b'),
    ]);
    expect(pins({ container: { image } })).toEqual([]);
  });

  it('is the digest of every executable, each once', () => {
    const platform = (character: string) => ({
      os: 'linux',
      arch: 'amd64',
      bin: 'fn',
      uri: 'https://example.com/fn',
      sha256: digits(character),
    });
    const exec = { platforms: [platform('a'), platform('b'), { ...platform('c'), sha256: undefined }] };
    expect(pins({ exec }, { exec })).toEqual([digest('a'), digest('b')]);
    // A client that has no other digest pins the manifest.
    const pushed = { ...platform('a'), uri: `oci://example.com/bin/fn@${digest('d')}` };
    const manifest = { ...pushed, sha256: undefined };
    expect(pins({ exec: { platforms: [pushed] } })).toEqual([digest('a'), digest('d')]);
    expect(pins({ exec: { platforms: [manifest] } })).toEqual([digest('d')]);
  });

  it.each([
    [`oci://localhost:8080/scripts/fn@${digest('a')}`, digest('a')],
    [`oci://localhost:8080/scripts/fn:v1@${digest('a')}`, digest('a')],
    [`https://example.com/fn.star#sha256=${digits('a')}`, digest('a')],
    ['oci://localhost:8080/scripts/fn:v1', 'scripts/fn:v1'],
    ['oci://localhost:8080/scripts/fn', 'scripts/fn:latest'],
    ['oci://scripts/fn:v1', undefined],
    ['https://example.com/fn.star', undefined],
    ['oci://localhost:8080/scripts/fn@sha256:short', undefined],
  ])('is of the script %s the digest or the tag', (starlark, pin) => {
    expect(pins({ starlark })).toEqual(pin === undefined ? [] : [pin]);
    expect(scriptPins(definition({ starlark }, { container: { image: `a@${digest('b')}` } }))).toEqual(
      pin === undefined ? [] : [pin],
    );
  });
});
