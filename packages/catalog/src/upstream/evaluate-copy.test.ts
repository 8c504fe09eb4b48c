import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { Signer } from '../ports/records.js';
import type { SourceCopy, SourceRecord } from '../ports/source-records.js';
import { signedCatalogName } from '../recipe/source-address.js';
import { evaluateCopy, type VerifiedSignature } from './evaluate-copy.js';

const AT = '2030-01-02T03:04:05.678Z';
const LATER = '2030-02-02T03:04:05.678Z';
const key = (name: string): Signer & { type: 'key' } => ({ type: 'key', fingerprint: sha256(name) });
const ROBOT: Signer = {
  type: 'identity',
  issuer: 'https://issuer.example.com',
  subject: 'robot@example.com',
};

const POLICY: SigningPolicy = {
  name: 'theirs',
  groups: ['*'],
  signers: [
    { key: 'PEM', fingerprint: key('a').fingerprint },
    { key: 'PEM', fingerprint: key('b').fingerprint },
  ],
};

const createCopy = (text: string, more: Partial<SourceCopy> = {}): SourceCopy => ({
  digest: sha256(text),
  size: 1,
  fetchedAt: AT,
  validators: {},
  entries: 0,
  invalid: [],
  invalidEntries: 0,
  signatures: [],
  ...more,
});
const createRecord = (more: Partial<SourceRecord> = {}): SourceRecord => ({
  catalog: 'c',
  source: 's',
  url: 'https://example.com/catalog.yaml',
  nextAt: AT,
  ...more,
});
const createClaim = (serial: number, expires = LATER, catalog = 'theirs') => ({ catalog, serial, expires });
const signedBy = (signer: Signer, more: Partial<SourceCopy> = {}) =>
  createCopy('old', { signatures: [{ signer, receivedAt: AT }], ...more });

function judge(
  record: SourceRecord,
  signatures: VerifiedSignature[],
  options: {
    text?: string;
    problems?: string[];
    policies?: SigningPolicy[];
    now?: string;
    name?: string;
  } = {},
) {
  const { text = 'new', problems = [], policies = [POLICY], now = AT, name } = options;
  return evaluateCopy({ record, name, policies, digest: sha256(text), found: { signatures, problems }, now });
}

describe('a copy', () => {
  it('accepts an unsigned copy if no copy was signed before', () => {
    expect(judge(createRecord(), [])).toEqual({ accepted: { signatures: [] } });
    expect(judge(createRecord({ copy: createCopy('old') }), [], { problems: ['no'] })).toEqual({
      accepted: { signatures: [] },
    });
  });

  it('of another URL does not depend on the previous URL', () => {
    const copy = signedBy(key('a'), {
      snapshot: createClaim(7),
      formerUrl: 'https://example.org/catalog.yaml',
    });
    expect(judge(createRecord({ copy }), [])).toEqual({ accepted: { signatures: [] } });
    expect(judge(createRecord({ copy: signedBy(key('a')) }), [])).toMatchObject({
      refused: { problem: 'signature' },
    });
  });

  it('stores its signers and since when they are known', () => {
    const record = createRecord({ copy: signedBy(key('a')) });
    const both = [{ signer: key('a') }, { signer: key('a') }, { signer: ROBOT, signedAt: LATER }];
    expect(judge(record, both, { text: 'old', now: LATER })).toEqual({
      accepted: {
        signatures: [
          { signer: key('a'), receivedAt: AT },
          { signer: ROBOT, signedAt: LATER, receivedAt: LATER },
        ],
      },
    });
    expect(judge(record, [{ signer: key('a') }], { now: LATER })).toEqual({
      accepted: { signatures: [{ signer: key('a'), receivedAt: LATER }] },
    });
  });

  it('is rejected without a signature if an earlier copy was signed', () => {
    const record = createRecord({ copy: signedBy(key('a')) });
    const was = `it was signed by the key ${key('a').fingerprint}`;
    expect(judge(record, [])).toEqual({
      refused: { problem: 'signature', message: `${was}, but is no longer signed` },
    });
    expect(judge(record, [], { problems: ['it is corrupt', 'other'] })).toMatchObject({
      refused: { message: `${was}, but its signature is no longer valid: it is corrupt` },
    });
    expect(judge(record, [{ signer: ROBOT }])).toMatchObject({
      refused: { problem: 'signature', message: expect.stringContaining('robot@example.com') },
    });
    expect(judge(record, [{ signer: key('b') }])).toMatchObject({ accepted: {} });
  });

  it('does not require a signer that is revoked or removed from the policies', () => {
    const record = createRecord({ copy: signedBy(key('a'), { snapshot: createClaim(3) }) });
    const revoked = {
      ...POLICY,
      signers: [{ key: 'PEM', fingerprint: key('a').fingerprint, revoked: 'it leaked' }],
    };
    for (const policies of [[], [revoked]]) {
      expect(judge(record, [], { policies })).toEqual({ accepted: { signatures: [] } });
    }
    expect(judge(createRecord({ copy: signedBy(ROBOT) }), [])).toEqual({ accepted: { signatures: [] } });
  });

  it('is rejected if its serial is lower than the highest seen serial', () => {
    const seen = (serial: number, text: string) =>
      createRecord({
        copy: signedBy(key('a'), { snapshot: createClaim(serial), digest: sha256(text) }),
        highest: { serial, digest: sha256(text) },
      });
    const of = (serial: number, expires?: string) => [
      { signer: key('a'), snapshot: createClaim(serial, expires) },
    ];
    expect(judge(seen(3, 'old'), of(4))).toEqual({
      accepted: {
        signatures: [{ signer: key('a'), receivedAt: AT }],
        snapshot: createClaim(4),
        highest: { serial: 4, digest: sha256('new') },
      },
    });
    expect(judge(seen(3, 'old'), of(3), { text: 'old' })).toMatchObject({
      accepted: { highest: { serial: 3, digest: sha256('old') } },
    });
    expect(judge(seen(3, 'old'), of(2))).toEqual({
      refused: { problem: 'rollback', message: 'it is snapshot 2, but snapshot 3 was seen before' },
    });
    expect(judge(seen(3, 'old'), of(3))).toMatchObject({ refused: { problem: 'equivocation' } });
    // Without a copy, such as of a signer who was not named for a while, the highest serial still counts.
    const { copy: _, ...bare } = seen(3, 'old');
    expect(judge(bare, of(2))).toMatchObject({ refused: { problem: 'rollback' } });
    // The newest of several statements speaks.
    expect(judge(seen(3, 'old'), [...of(2), ...of(5, AT), ...of(5)])).toMatchObject({
      accepted: { snapshot: createClaim(5) },
    });
  });

  it('is rejected if its signature expired, also if the copy is unchanged', () => {
    const record = createRecord({
      copy: signedBy(key('a'), { snapshot: createClaim(3) }),
      highest: { serial: 3, digest: sha256('old') },
    });
    const of = (expires: string) => [{ signer: key('a'), snapshot: createClaim(3, expires) }];
    expect(judge(record, of(LATER), { text: 'old', now: LATER })).toEqual({
      refused: { problem: 'frozen', message: `the signature of snapshot 3 expired at ${LATER}` },
    });
    expect(judge(createRecord(), of(AT), { now: LATER })).toMatchObject({ refused: { problem: 'frozen' } });
    expect(judge(record, of('2031-01-01T00:00:00Z'), { text: 'old', now: LATER })).toMatchObject({
      accepted: { snapshot: { expires: '2031-01-01T00:00:00Z' } },
    });
  });

  it('is rejected if its snapshot is of another catalog', () => {
    const record = createRecord({ copy: signedBy(key('a'), { snapshot: createClaim(3) }) });
    expect(judge(record, [{ signer: key('a') }])).toMatchObject({
      refused: { problem: 'signature', message: expect.stringContaining('no longer contains the snapshot') },
    });
    expect(judge(record, [{ signer: key('a'), snapshot: createClaim(9, LATER, 'other') }])).toMatchObject({
      refused: {
        problem: 'signature',
        message: expect.stringContaining('is now signed as a snapshot of other'),
      },
    });
  });

  it('is bound to the name of its address: another catalog of the key is refused, and then the right one accepted', () => {
    const of = (catalog: string, serial: number) => ({
      signer: key('a'),
      snapshot: createClaim(serial, LATER, catalog),
    });
    const name = { name: 'default' };
    expect(judge(createRecord(), [of('other', 9)], name)).toEqual({
      refused: {
        problem: 'signature',
        message: 'it is signed as a snapshot of other, but its address is that of default',
        signedAs: 'other',
      },
    });
    // The signature of another catalog beside it verifies nothing.
    expect(judge(createRecord(), [of('other', 9), of('default', 3)], name)).toMatchObject({
      accepted: { snapshot: { catalog: 'default', serial: 3 }, signatures: [{ signer: key('a') }] },
    });
    // What an earlier version accepted as this catalog blocks neither its serials nor its name.
    const copy = signedBy(key('a'), { snapshot: createClaim(9, LATER, 'other') });
    const wrong = createRecord({ copy, highest: { serial: 9, digest: copy.digest } });
    expect(judge(wrong, [of('default', 3)], name)).toMatchObject({ accepted: { highest: { serial: 3 } } });
    expect(judge(wrong, [], name)).toMatchObject({ refused: { problem: 'signature' } });
    const right = createRecord({
      copy: signedBy(key('a'), { snapshot: createClaim(9, LATER, 'default') }),
      highest: { serial: 9, digest: copy.digest },
    });
    expect(judge(right, [of('default', 3)], name)).toMatchObject({ refused: { problem: 'rollback' } });
  });

  it.each([
    ['https://krm.example.com/catalogs/default/catalog.yaml', undefined, 'default'],
    ['https://krm.example.com/base/catalogs/a/snapshots/7/catalog.json', undefined, 'a'],
    ['oci://krm.example.com/catalogs/default:latest', undefined, 'default'],
    [`oci://krm.example.com:5000/catalogs/b@sha256:${'a'.repeat(64)}`, undefined, 'b'],
    ['https://mirror.example.com/krm', 'default', 'default'],
    ['https://krm.example.com/catalogs/default/catalog.yaml', 'other', 'other'],
    ['https://mirror.example.com/krm', undefined, undefined],
    ['oci://krm.example.com/vendors/watermelon:v1', undefined, undefined],
    ['git::https://git.example.com/a.git//catalogs/default/catalog.yaml', undefined, undefined],
  ])('at %s, named %s, has the name %s in its signature', (url, name, expected) => {
    const upstream = { url, refreshSeconds: 1, ...(name === undefined ? {} : { name }) };
    expect(signedCatalogName(upstream)).toBe(expected);
  });

  it('ignores serials of untrusted signers', () => {
    const strange = [{ signer: ROBOT, snapshot: createClaim(9_000) }];
    expect(judge(createRecord(), strange)).toEqual({
      accepted: { signatures: [{ signer: ROBOT, receivedAt: AT }] },
    });
  });
});
