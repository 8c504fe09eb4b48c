import { describe, expect, it } from 'vitest';
import { execLine, formatExecutable, type PinnedExecutable, parseExecutable } from './exec-line.js';

const digits = '0f'.repeat(32);
const linux: PinnedExecutable = {
  os: 'linux',
  arch: 'amd64',
  bin: 'set-owner',
  uri: 'https://example.com/v1/set-owner',
  sha256: `sha256:${digits}`,
};

describe('the command line of an exec function', () => {
  it('names every platform', () => {
    const mac: PinnedExecutable = {
      ...linux,
      os: 'darwin',
      arch: 'arm64',
      uri: 'https://example.com/v1/mac.tar.gz',
    };
    expect(execLine([linux, mac])).toBe(
      `krmhub kpt exec linux/amd64=https://example.com/v1/set-owner#sha256=${digits}` +
        ` darwin/arm64=https://example.com/v1/mac.tar.gz#sha256=${digits}&bin=set-owner`,
    );
  });

  it.each<Partial<PinnedExecutable>>([
    {},
    { uri: 'https://example.com/set-owner?token=a&b=c' },
    { uri: `oci://example.com/fn@sha256:${digits}` },
    { uri: 'https://example.com/a#fragment', bin: 'a' },
    { bin: "it's & more" },
    { bin: 'a b', uri: 'https://example.com/a%20b' },
  ])('is read as it was written: %j', (part) => {
    const executable = { ...linux, ...part };
    const text = formatExecutable(executable);
    expect(text).not.toMatch(/[\s"'\\]/);
    expect(parseExecutable(text)).toEqual(executable);
  });

  it('has no character that would split it', () => {
    const text = formatExecutable({ ...linux, uri: 'https://example.com/a b\'c"d\\e' });
    expect(text).toContain('=https://example.com/a%20b%27c%22d%5ce#');
    expect(parseExecutable(text)).toMatchObject({ bin: 'set-owner' });
  });

  it.each([
    'set-owner',
    'linux/amd64=https://example.com/a',
    'linux/amd64=https://example.com/a#sha256=0f',
    `linux/mips=https://example.com/a#sha256=${digits}`,
    `linux/amd64=#sha256=${digits}`,
    `linux/amd64=https://example.com/a#sha256=${digits}&bin=%zz`,
  ])('refuses %s', (text) => {
    expect(() => parseExecutable(text)).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});
