import { type Digest, type SourceIdentity, type SourceRequirements, sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { Signer } from '../ports/records.js';
import { evaluateSignatures } from './evaluate-signatures.js';
import type { JudgedSignature } from './judge-signature.js';
import { matchesSigner, type SigningPolicy, type TrustedSigner } from './signing-policy.js';
import { SOURCE_FIELDS } from './source-requirements.js';

const NAME = { group: 'example.com', kind: 'SetLabels', release: '1.2.0' };
const ISSUER = 'https://token.actions.githubusercontent.com';
const REPOSITORY = 'https://github.com/example/functions';
const SUBJECT = `${REPOSITORY}/.github/workflows/release.yml@refs/tags/v1.2.0`;
const SOURCE: SourceIdentity = {
  buildSignerURI: SUBJECT,
  buildConfigURI: SUBJECT,
  runnerEnvironment: 'github-hosted',
  sourceRepositoryURI: REPOSITORY,
  sourceRepositoryRef: 'refs/tags/v1.2.0',
  sourceRepositoryIdentifier: '123',
  sourceRepositoryOwnerURI: 'https://github.com/example',
  sourceRepositoryOwnerIdentifier: '7',
  buildTrigger: 'push',
  deploymentEnvironment: 'release',
};
/** What the source meets. */
const ALL: Required<SourceRequirements> = {
  repository: REPOSITORY,
  repositoryId: '123',
  owner: 'https://github.com/example',
  ownerId: '7',
  ref: 'refs/tags/v*',
  workflow: `${REPOSITORY}/.github/workflows/release.yml`,
  trigger: 'push',
  environment: 'release',
  runnerEnvironment: 'github-hosted',
};

const identity = (source?: SourceIdentity, subject = SUBJECT): Signer =>
  source === undefined
    ? { type: 'identity', issuer: ISSUER, subject }
    : { type: 'identity', issuer: ISSUER, subject, source };
const key = (name: string): Signer => ({ type: 'key', fingerprint: sha256(name) });
const trustsKey = (name: string, more: object = {}): TrustedSigner => ({
  key: 'PEM',
  fingerprint: sha256(name) as Digest,
  ...more,
});
const signed = (signer: Signer): JudgedSignature => ({ signer, receivedAt: '2030-01-01T00:00:00.000Z' });
const policy = (signers: TrustedSigner[], more: Partial<SigningPolicy> = {}): SigningPolicy => ({
  name: 'team',
  groups: ['example.com'],
  signers,
  ...more,
});
const verdict = (policies: SigningPolicy[], ...signers: Signer[]) =>
  evaluateSignatures(policies, NAME, signers.map(signed))!;
function reason(policies: SigningPolicy[], ...signers: Signer[]): string {
  const found = verdict(policies, ...signers);
  if (found.trusted) throw new Error('it is trusted');
  return found.reason;
}

describe('the source that a signer requires', () => {
  it('is met by the claims of the certificate', () => {
    expect(verdict([policy([{ issuer: ISSUER, ...ALL }])], identity(SOURCE)).trusted).toBe(true);
  });

  it.each(SOURCE_FIELDS)('is not met by another %s, or by none', (field) => {
    const other = { ...ALL, [field]: 'https://other.example.com' };
    expect(reason([policy([{ issuer: ISSUER, ...other }])], identity(SOURCE))).toMatch(
      new RegExp(`requires another source: ${field} is ".+", expected https://other.example.com$`),
    );
    expect(reason([policy([{ issuer: ISSUER, [field]: ALL[field] }])], identity())).toContain(
      `${field} is missing, expected ${ALL[field]}`,
    );
  });

  it('has every problem in the message, with that of the time', () => {
    const strict = { ...ALL, repositoryId: '9', ref: 'refs/heads/main' };
    const late = { validUntil: '2029-01-01T00:00:00.000Z' };
    expect(
      reason([policy([{ issuer: ISSUER, subject: SUBJECT, ...strict, ...late }])], identity(SOURCE)),
    ).toBe(
      `it is signed by ${SUBJECT} (${ISSUER}) at 2030-01-01T00:00:00.000Z, but the policy team requires another source: ` +
        'repositoryId is "123", expected 9; ref is "refs/tags/v1.2.0", expected refs/heads/main, ' +
        'and trusted this signer only until 2029-01-01T00:00:00.000Z',
    );
  });

  it('accepts the workflow that started the build, and the reusable one that signed', () => {
    const reusable = 'https://github.com/other/builder/.github/workflows/build.yml';
    const source = { ...SOURCE, buildSignerURI: `${reusable}@refs/tags/v2` };
    for (const workflow of [ALL.workflow, reusable]) {
      const signer = { issuer: ISSUER, repositoryId: '123', workflow };
      expect(verdict([policy([signer])], identity(source)).trusted).toBe(true);
    }
  });

  it('quotes and shortens text of certificates, without hidden characters', () => {
    const source = { ...SOURCE, deploymentEnvironment: `\u202e"${'x'.repeat(2_000)}` };
    const message = reason([policy([{ issuer: ISSUER, ...ALL }])], identity(source));
    expect(message).toContain('environment is "?\\"xxx');
    expect(message.length).toBeLessThan(900);
  });
});

describe('a revoked source', () => {
  const trusting = policy([{ issuer: ISSUER, subject: SUBJECT }]);
  const revoking = (required: SourceRequirements) =>
    policy([{ issuer: ISSUER, ...required, revoked: 'stolen' }], { name: 'revocations', groups: ['a.b'] });

  it('is revoked in any policy, also if the certificate does not state it', () => {
    for (const signer of [identity(SOURCE), identity()]) {
      expect(reason([trusting, revoking({ repositoryId: '123' })], signer)).toContain('stolen');
    }
    expect(verdict([trusting, revoking({ repositoryId: '5' })], identity(SOURCE)).trusted).toBe(true);
  });
});

describe('a policy that requires several signers', () => {
  const two = policy([trustsKey('a'), trustsKey('b'), trustsKey('c')], { atLeast: 2 });

  it('counts different signers', () => {
    expect(verdict([two], key('a'), key('c'))).toMatchObject({
      trusted: true,
      signer: key('a'),
      cosigners: [key('c')],
    });
    expect(verdict([two], key('a'), key('a')).trusted).toBe(false);
    const twice = policy([trustsKey('a'), trustsKey('a', { validFrom: '2020-01-01T00:00:00.000Z' })]);
    expect(verdict([{ ...twice, atLeast: 2 }], key('a')).trusted).toBe(false);
  });

  it('says who is missing', () => {
    expect(reason([two], key('a'), key('x'))).toBe(
      `the policy team requires signatures by 2 of its signers, but the release has only 1: the key ${sha256('a')}; ` +
        `missing: the key ${sha256('b')}, the key ${sha256('c')}; ` +
        `it is signed by the key ${sha256('x')}, but the policy team does not allow this signer`,
    );
    expect(reason([two])).toMatch(
      /^it is not signed, but the policy team requires signatures by 2 of these signers: /,
    );
  });

  it('never accepts a release if all its signers are revoked', () => {
    const none = policy([trustsKey('a', { revoked: 'stolen' })], { requireAll: true });
    expect(verdict([none]).trusted).toBe(false);
    expect(verdict([none], key('a'), key('b')).trusted).toBe(false);
  });

  it('finds an assignment for signers that match several', () => {
    const pattern: TrustedSigner = { issuer: ISSUER, subjectPattern: '^https://github\\.com/.*$' };
    const exact: TrustedSigner = { issuer: ISSUER, subject: SUBJECT };
    const other = identity(SOURCE, 'https://github.com/example/other');
    for (const signers of [
      [pattern, exact],
      [exact, pattern],
    ]) {
      const all = policy(signers, { requireAll: true });
      expect(verdict([all], identity(SOURCE), other).trusted).toBe(true);
      expect(verdict([all], other, identity(SOURCE)).trusted).toBe(true);
      expect(verdict([all], identity(SOURCE)).trusted).toBe(false);
    }
  });
});

describe('for random claims and policies', () => {
  const RUNS = 3_000;
  const random = new Random(4357);
  const VALUES = ['1', '2', 'refs/tags/v1', 'refs/heads/main'];
  const randomSource = (): SourceIdentity | undefined => {
    if (random.chance(0.1)) return undefined;
    const names = random.some(Object.keys(SOURCE) as (keyof SourceIdentity)[], 0.8);
    return Object.fromEntries(names.map((name) => [name, random.pick(VALUES)]));
  };
  const randomRequirements = (probability: number): SourceRequirements =>
    Object.fromEntries(
      random
        .some(SOURCE_FIELDS, probability)
        .map((field) => [
          field,
          field === 'ref' ? random.pick([...VALUES, '*', 'refs/*', 'refs/tags/*']) : random.pick(VALUES),
        ]),
    );
  const randomSigner = (): Signer =>
    random.chance(0.3)
      ? key(random.pick(['a', 'b', 'c', 'd']))
      : identity(randomSource(), random.pick(['x', 'y', 'z']));
  const randomTrusted = (): TrustedSigner => {
    const times = random.chance(0.2) ? { validFrom: `20${random.pick([29, 31])}-01-01T00:00:00.000Z` } : {};
    if (random.chance(0.3)) return trustsKey(random.pick(['a', 'b', 'c', 'd']), times);
    const name = random.pick([{ subject: 'x' }, { subjectPattern: '^[xy]$' }, {}]);
    return { issuer: ISSUER, ...name, ...randomRequirements(0.15), ...times };
  };
  const list = <Item>(most: number, make: () => Item) => Array.from({ length: random.below(most + 1) }, make);

  it('a signer with more requirements never accepts more', () => {
    let [accepted, refused] = [0, 0];
    for (let run = 0; run < RUNS; run++) {
      const fewer = { issuer: ISSUER, ...randomRequirements(0.2) };
      const more = { ...randomRequirements(0.2), ...fewer };
      const signer = identity(randomSource());
      if (matchesSigner(more, signer)) {
        accepted++;
        expect(matchesSigner(fewer, signer)).toBe(true);
        expect(verdict([policy([fewer])], signer).trusted).toBe(true);
      } else if (matchesSigner(fewer, signer)) refused++;
    }
    expect([accepted, refused].every((count) => count > 50)).toBe(true);
  });

  it('more required signers never accept more, and requireAll is the most', () => {
    let [all, some] = [0, 0];
    for (let run = 0; run < RUNS; run++) {
      const base = policy([randomTrusted(), ...list(2, randomTrusted)]);
      const signers = list(5, randomSigner);
      const accepts = (more: Partial<SigningPolicy>) => verdict([{ ...base, ...more }], ...signers).trusted;
      const levels = base.signers.map((_, at) => accepts({ atLeast: at + 1 }));
      expect(levels).toEqual([...levels].sort((a, b) => Number(b) - Number(a)));
      expect(accepts({})).toBe(levels[0]);
      expect(accepts({ requireAll: true })).toBe(levels.at(-1));
      if (base.signers.length > 1) {
        all += Number(levels.at(-1));
        some += Number(levels[0]);
      }
      // Another signature never takes trust away, nor does the order.
      if (accepts({ atLeast: 2 })) {
        const shuffled = random.shuffled([...signers, randomSigner()]);
        expect(verdict([{ ...base, atLeast: 2 }], ...shuffled).trusted).toBe(true);
      }
    }
    expect(all).toBeGreaterThan(20);
    expect(some).toBeGreaterThan(all);
  });

  it('the number of signers is that of the best assignment', () => {
    for (let run = 0; run < RUNS; run++) {
      const trusted = list(4, () => {
        const { validFrom: _, ...one } = randomTrusted();
        return one as TrustedSigner;
      });
      const signers = [
        ...new Map(list(4, randomSigner).map((one) => [JSON.stringify({ ...one, source: 0 }), one])).values(),
      ];
      const best = (from: number, free: readonly TrustedSigner[]): number =>
        from === signers.length
          ? 0
          : Math.max(
              best(from + 1, free),
              ...free
                .filter((one) => matchesSigner(one, signers[from]!))
                .map(
                  (one) =>
                    1 +
                    best(
                      from + 1,
                      free.filter((other) => other !== one),
                    ),
                ),
            );
      const most = best(0, trusted);
      for (const atLeast of [1, 2, 3, 4]) {
        expect(verdict([policy(trusted, { atLeast })], ...signers).trusted).toBe(most >= atLeast);
      }
    }
  });

  it('a claim that krmhub does not know, or a revocation, never widens', () => {
    for (let run = 0; run < RUNS; run++) {
      const trusted = [randomTrusted(), ...list(2, randomTrusted)];
      const signer = randomSigner();
      const before = verdict([policy(trusted)], signer).trusted;
      const unknown = { newClaim: random.pick(VALUES) } as SourceIdentity;
      const claimed =
        signer.type === 'identity' && signer.source !== undefined
          ? { ...signer, source: { ...signer.source, ...unknown } }
          : signer;
      expect(verdict([policy(trusted)], claimed).trusted).toBe(before);
      const revoked = { ...randomTrusted(), revoked: 'stolen' };
      if (verdict([policy([...trusted, revoked])], signer).trusted) expect(before).toBe(true);
    }
  });
});
