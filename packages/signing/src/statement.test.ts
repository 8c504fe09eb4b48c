import { describe, expect, it } from 'vitest';
import {
  encodeStatement,
  hasSubject,
  predicateStatement,
  RELEASE_PREDICATE,
  readSnapshotClaim,
  readStatement,
  releaseStatement,
  SNAPSHOT_PREDICATE,
  type Statement,
  signatureStatement,
  snapshotStatement,
} from './statement.js';

const definition = `sha256:${'a'.repeat(64)}` as const;
const manifest = `sha256:${'b'.repeat(64)}` as const;
const release = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
const payload = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

describe('statements', () => {
  it('contain the release and the digests', () => {
    const statement = releaseStatement(release, { definition, manifest });
    expect(statement).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [
        { name: 'manifest', digest: { sha256: 'b'.repeat(64) } },
        { name: 'definition', digest: { sha256: 'a'.repeat(64) } },
      ],
      predicateType: RELEASE_PREDICATE,
      predicate: release,
    });
    expect(releaseStatement(release, { definition }).subject).toHaveLength(1);
  });

  it('contain digests, with and without a name', () => {
    expect(signatureStatement({ 'a.txt': definition }).subject).toEqual([
      { name: 'a.txt', digest: { sha256: 'a'.repeat(64) } },
    ]);
    const unnamed = predicateStatement({ digest: definition }, 'https://example.com/t', { passed: true });
    expect(unnamed.subject).toEqual([{ digest: { sha256: 'a'.repeat(64) } }]);
    expect(unnamed.predicate).toEqual({ passed: true });
  });

  it('can be read after writing', () => {
    const claim = { catalog: 'default', serial: 7, previous: null, expires: '2030-01-01T00:00:00Z' };
    const statement = snapshotStatement(claim, { 'snapshot.json': definition });
    expect(readStatement(encodeStatement(statement))).toEqual(statement);
    expect(readSnapshotClaim(statement)).toEqual(claim);
    expect(readSnapshotClaim({ ...statement, predicateType: RELEASE_PREDICATE })).toBeUndefined();
    const more = { ...statement, predicateType: SNAPSHOT_PREDICATE, predicate: { ...claim, more: 1 } };
    expect(readSnapshotClaim(more)).toBeUndefined();
  });

  it('of v0.1 can be read', () => {
    const older = { ...signatureStatement({ a: definition }), _type: 'https://in-toto.io/Statement/v0.1' };
    expect(readStatement(payload(older))).toEqual(older);
  });

  it('match subjects by algorithm and digest', () => {
    const statement = releaseStatement(release, { definition, manifest });
    expect(hasSubject(statement, [manifest])).toBe(true);
    expect(hasSubject(statement, [`sha512:${'a'.repeat(64)}`])).toBe(false);
    expect(hasSubject(statement, [])).toBe(false);
  });

  const good = signatureStatement({ a: definition }) as Statement & Record<string, unknown>;
  it.for([
    ['no JSON', new TextEncoder().encode('hello'), 'not valid JSON'],
    ['broken text', new Uint8Array([0xff, 0xfe]), 'not valid JSON'],
    ['null', payload(null), 'the document root'],
    ['a list', payload([good]), 'the document root'],
    ['no type', payload({ ...good, _type: undefined }), '_type'],
    ['another type', payload({ ...good, _type: 'https://in-toto.io/Statement/v2' }), '_type'],
    ['no subject', payload({ ...good, subject: [] }), 'subject'],
    ['too many subjects', payload({ ...good, subject: Array(1_001).fill(good.subject[0]) }), 'subject'],
    ['a subject without a digest', payload({ ...good, subject: [{ name: 'a' }] }), 'subject.0.digest'],
    [
      'a digest in capitals',
      payload({ ...good, subject: [{ digest: { sha256: 'AA' } }] }),
      'subject.0.digest.sha256',
    ],
    ['no predicate type', payload({ ...good, predicateType: '' }), 'predicateType'],
    ['a predicate that is a text', payload({ ...good, predicate: 'yes' }), 'predicate'],
  ] as const)('are rejected: %s', ([, bytes, reason]) => {
    expect(readStatement(bytes)).toEqual(expect.stringContaining(reason));
  });
});
