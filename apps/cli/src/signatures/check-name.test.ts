import type { Subject } from '@krmhub/consume/trust/judge-release';
import { parseReference } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import {
  releaseStatement,
  type SnapshotClaim,
  type Statement,
  signatureStatement,
  snapshotStatement,
} from '@krmhub/signing';
import { describe, expect, it } from 'vitest';
import { checkName } from './check-name.js';

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const [DEFINITION, MANIFEST] = [digest('d'), digest('e')];
const NAME = { group: 'example.com', kind: 'SetLabels' };
const SUBJECT: Subject = {
  definitions: [NAME],
  definition: DEFINITION,
  release: { name: '1.0.0', by: 'user' },
  manifests: [{ digest: MANIFEST, version: '1.0.0' }],
};
const now = new Date('2026-06-01T00:00:00Z');
const check = (statement: Statement | undefined, changes: Partial<Subject> = {}, reference?: string) =>
  checkName(statement, {
    subject: { ...SUBJECT, ...changes },
    now,
    ...(reference === undefined ? {} : { reference: parseReference(`localhost:5000/${reference}`) }),
  });
const release = (name: string, changes: object = {}) =>
  releaseStatement({ ...NAME, ...changes, release: name }, { definition: DEFINITION, manifest: MANIFEST });
const plain = signatureStatement({ manifest: MANIFEST });
const passes = (message: string) => ({ check: 'name', passed: true, message });
const fails = (message: string) => ({
  check: 'name',
  passed: false,
  message: expect.stringContaining(message) as string,
});

describe('a definition', () => {
  it('has the release of its statement or its signed manifest', () => {
    const passed = passes('example.com/SetLabels@1.0.0');
    expect(check(release('1.0.0'))).toEqual(passed);
    expect(check(plain)).toEqual(passed);
    expect(check(undefined)).toEqual(passed);
  });

  it.each<[string, Statement | undefined, Partial<Subject>, string]>([
    ['another release', release('1.1.0'), {}, 'the signature is for example.com/SetLabels@1.1.0, not'],
    [
      'another kind',
      release('1.0.0', { kind: 'Other' }),
      {},
      'the signature is for example.com/Other@1.0.0, not',
    ],
    [
      'another group',
      release('1.0.0', { group: 'b.com' }),
      {},
      'the signature is for b.com/SetLabels@1.0.0, not',
    ],
    [
      'another release than the artifact names',
      release('1.1.0'),
      { release: { name: '1.0.0', by: 'artifact' } },
      'not for example.com/SetLabels@1.0.0',
    ],
    ['another definition', release('1.0.0'), { definition: digest('1') }, 'another definition'],
    ['no release', { ...release('1.0.0'), predicate: { release: '1.0.0' } }, {}, 'invalid release predicate'],
    ['one of two definitions', release('1.0.0'), { definitions: [NAME, NAME] }, '2 definitions'],
    [
      'a manifest of another release',
      plain,
      { manifests: [{ digest: MANIFEST, version: '1.1.0' }] },
      'expected example.com/SetLabels@1.0.0',
    ],
    [
      'a manifest of no release',
      undefined,
      { manifests: [{ digest: MANIFEST, version: undefined }] },
      'the signature does not contain the release',
    ],
    ['what cannot be read', plain, { definitions: [], unreadable: 'its definition has' }, 'its definition'],
    [
      'the definition of another repository',
      release('1.0.0'),
      { repository: { group: 'example.com', kind: 'other' } },
      'the repository belongs to example.com/other',
    ],
    [
      'nothing that its repository is for',
      plain,
      { definitions: [], repository: { group: 'example.com', kind: 'setlabels' } },
      'it contains no definition',
    ],
  ])('is rejected where the signature is of %s', (_, statement, changes, message) => {
    expect(check(statement, changes)).toEqual(fails(message));
  });

  it('that is not read is compared only by its tag', () => {
    const unread: Partial<Subject> = { definitions: [] };
    expect(check(release('1.0.0'), unread)).toEqual(passes('example.com/SetLabels@1.0.0'));
    expect(check(release('1.1.0'), unread)).toEqual(fails('not for example.com/SetLabels@1.0.0'));
    expect(check(plain, unread)).toBeUndefined();
  });
});

describe('a snapshot', () => {
  const script: Partial<Subject> = { definitions: [] };
  const snapshot = (claim: Partial<SnapshotClaim> = {}) =>
    snapshotStatement(
      { catalog: 'default', serial: 7, previous: null, expires: '2026-07-01T00:00:00Z', ...claim },
      { manifest: MANIFEST },
    );
  const name = 'snapshot 7 of the catalog default';

  it('has the catalog and the serial of its reference', () => {
    const passed = passes(`${name}, valid until 2026-07-01T00:00:00Z`);
    for (const reference of ['catalogs/default:7', 'catalogs/default:latest', 'mirror/catalog:v1', undefined])
      expect(check(snapshot(), script, reference)).toEqual(passed);
    expect(check(snapshot(), script, 'catalogs/prod:7')).toEqual(fails('not for the catalog prod'));
    expect(check(snapshot(), script, 'catalogs/default:8')).toEqual(fails('not for snapshot 8'));
    expect(check(snapshot(), {})).toEqual(fails('not for a definition'));
    expect(check(snapshot({ serial: 0 }), script)).toEqual(fails('invalid snapshot predicate'));
  });

  it('that is expired is valid only by serial', () => {
    const old = snapshot({ expires: '2026-05-01T00:00:00Z' });
    expect(check(old, script, 'mirror/catalog:latest')).toEqual(fails('expired at 2026-05-01'));
    expect(check(old, script, 'mirror/catalog:9999')).toEqual(fails('not for snapshot 9999'));
    expect(check(old, script, 'catalogs/default:latest')).toEqual(fails('expired at 2026-05-01'));
    for (const reference of ['catalogs/default:7', `catalogs/default@${MANIFEST}`, undefined]) {
      expect(check(old, script, reference)).toEqual(passes(`${name}, expired at 2026-05-01T00:00:00Z`));
    }
  });
});
