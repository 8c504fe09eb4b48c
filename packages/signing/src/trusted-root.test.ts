import { describe, expect, it } from 'vitest';
import { TestLog } from './testing/bundles.js';
import { emptyRoot, publicGoodRoot, readTrustedRoot } from './trusted-root.js';

const log = new TestLog();
const changed = (change: object) => JSON.stringify({ ...JSON.parse(log.trustedRoot()), ...change });

describe('trusted roots', () => {
  it('contain the evidence that the instance requires', () => {
    const { name, root, requires } = readTrustedRoot(log.trustedRoot(), 'ours.json');
    expect([name, root.tlogs.length, requires]).toEqual([
      'ours.json',
      1,
      { log: true, certificateLog: false },
    ]);
  });

  it('include the public instance without a network request', () => {
    const { root, requires } = publicGoodRoot();
    expect(requires).toEqual({ log: true, certificateLog: true });
    expect(root.tlogs.map(({ baseUrl }) => baseUrl)).toContain('https://rekor.sigstore.dev');
    expect(publicGoodRoot()).toBe(publicGoodRoot());
  });

  it('do not trust an entry without a start of validity, but still require its evidence', () => {
    const { root, requires } = readTrustedRoot(log.trustedRoot({}), 'ours.json');
    expect([root.tlogs, requires.log]).toEqual([[], true]);
    const authority = { subject: {}, uri: '', certChain: { certificates: [{ rawBytes: 'AAAA' }] } };
    const unsound = [authority, { ...authority, certChain: {}, validFor: { start: '2020-01-01T00:00:00Z' } }];
    const read = readTrustedRoot(
      changed({ certificateAuthorities: unsound, timestampAuthorities: unsound }),
      'ours.json',
    );
    expect([read.root.certificateAuthorities, read.root.timestampAuthorities]).toEqual([[], []]);
  });

  it('are not needed for keys', () => {
    expect(emptyRoot().requires).toEqual({ log: false, certificateLog: false });
  });

  it.for([
    ['nothing', ''],
    ['no JSON', '{'],
    ['null', 'null'],
    ['a list', '[]'],
    ['another document', changed({ mediaType: 'application/json' })],
    ['no media type', changed({ mediaType: undefined })],
    ['wrong fields', changed({ tlogs: 7 })],
    ['too long', `{"a":"${'a'.repeat(1_100_000)}"}`],
  ] as const)('are rejected: %s', ([, text]) => {
    expect(() => readTrustedRoot(text, 'ours.json')).toThrow(
      expect.objectContaining({
        code: 'invalid-document',
        message: expect.stringContaining('ours.json is not a valid trusted root'),
      }),
    );
  });
});
