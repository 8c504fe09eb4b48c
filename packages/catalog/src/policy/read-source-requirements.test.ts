import type { SourceIdentity, SourceRequirements } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { trustDocument } from '../trust/trust.js';
import { readSigningPolicies } from './read-signing-policies.js';
import { sourceProblems } from './source-requirements.js';

const GITHUB = 'https://token.actions.githubusercontent.com';
const PEM = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEdDNq3rWiG5oe2v4j1knbm89hxL93
qIWQoxkAge5GazakWxIm8HjTG3+fYOizQ+W5nkteL5udvIMpP/eo9+kDrQ==
-----END PUBLIC KEY-----
`;
const document = (signers: readonly object[], more: object = {}) =>
  JSON.stringify({
    apiVersion: 'krmhub.dev/v1alpha1',
    kind: 'SigningPolicy',
    metadata: { name: 'team' },
    spec: { groups: ['example.com'], signers, ...more },
  });
const read = (...given: Parameters<typeof document>) =>
  readSigningPolicies(new TextEncoder().encode(document(...given)), 'policies.yaml');
const codes = (...given: Parameters<typeof document>) => read(...given).diagnostics.map(({ code }) => code);

const REPOSITORY = 'https://github.com/example/functions';
const WORKFLOW = `${REPOSITORY}/.github/workflows/release.yml`;
const PINNED = { issuer: GITHUB, repositoryId: '123', ref: 'refs/tags/v*' };

describe('a signer of a policy', () => {
  it('can require every field of the source, and survives a round trip', () => {
    const signer = {
      ...PINNED,
      subject: `${WORKFLOW}@refs/tags/v1`,
      repository: REPOSITORY,
      owner: 'https://github.com/example',
      ownerId: '7',
      workflow: WORKFLOW,
      trigger: 'push',
      environment: 'release',
      runnerEnvironment: 'github-hosted',
    };
    const { policies, diagnostics } = read([signer], { testers: [signer] });
    expect(diagnostics).toEqual([]);
    expect(policies![0]).toMatchObject({ signers: [signer], testers: [signer] });
    const again = JSON.stringify(trustDocument(policies![0]!));
    expect(readSigningPolicies(new TextEncoder().encode(again), 'again').policies).toEqual(policies);
  });

  it('does not distinguish case in names of GitHub, and in nothing else', () => {
    const met = (required: SourceRequirements, source: SourceIdentity) =>
      sourceProblems(required, source).length === 0;
    const repository = 'https://github.com/example/functions';
    const workflow = `${repository}/.github/workflows/release.yml`;
    const shouted = 'https://github.com/Example/FUNCTIONS';
    expect(met({ repository: shouted }, { sourceRepositoryURI: repository })).toBe(true);
    expect(
      met(
        { owner: 'https://github.com/EXAMPLE' },
        { sourceRepositoryOwnerURI: 'https://github.com/example' },
      ),
    ).toBe(true);
    const config = { buildConfigURI: `${workflow}@refs/tags/v1`, sourceRepositoryRef: 'refs/tags/v1' };
    expect(met({ workflow: `${shouted}/.github/workflows/release.yml` }, config)).toBe(true);
    expect(met({ workflow: `${repository}/.github/workflows/Release.yml` }, config)).toBe(false);
    expect(
      met({ repository: 'https://gitlab.com/A/b' }, { sourceRepositoryURI: 'https://gitlab.com/a/b' }),
    ).toBe(false);
    expect(met({ repository }, { sourceRepositoryURI: `${repository}2` })).toBe(false);
  });

  it('can have an ID that is written as a number', () => {
    expect(read([{ ...PINNED, repositoryId: 123 }]).policies![0]!.signers[0]).toMatchObject({
      repositoryId: '123',
    });
  });

  it.each<[string, object]>([
    ['policy/signer', { issuer: GITHUB, ref: 'refs/tags/v*' }],
    ['policy/signer', { issuer: GITHUB, workflow: WORKFLOW }],
    ['policy/signer', { repositoryId: '123' }],
    ['policy/signer', { key: PEM, repositoryId: '123' }],
    ['policy/source', { ...PINNED, repository: 'example/functions' }],
    ['policy/source', { ...PINNED, repository: `${REPOSITORY}/` }],
    ['policy/source', { ...PINNED, workflow: 'release.yml' }],
    ['policy/source', { ...PINNED, workflow: `${WORKFLOW}@refs/heads/main` }],
    ['policy/source', { ...PINNED, ref: 'main' }],
    ['policy/wrong-type', { ...PINNED, repositoryId: 1.5 }],
    ['policy/wrong-type', { ...PINNED, repositoryId: '' }],
    ['policy/wrong-type', { ...PINNED, trigger: ['push'] }],
    ['policy/wrong-type', { ...PINNED, trigger: null }],
    ['policy/limit', { ...PINNED, environment: 'x'.repeat(3_000) }],
    ['policy/unknown-field', { ...PINNED, repositoryID: '123' }],
    ['policy/unknown-field', { ...PINNED, branch: 'main' }],
  ])('is refused with %s: %j', (code, signer) => {
    const { policies, diagnostics } = read([signer]);
    expect(policies).toBeUndefined();
    expect(diagnostics.map((one) => one.code)).toContain(code);
    for (const { hint, range } of diagnostics) expect([hint, range]).not.toContain(undefined);
  });

  it.each<[string, object]>([
    ['policy/reusable-name', { issuer: GITHUB, subject: `${WORKFLOW}@refs/heads/main` }],
    [
      'policy/reusable-name',
      {
        issuer: GITHUB,
        subjectPattern:
          '^https://github\\.com/example/functions/\\.github/workflows/release\\.yml@refs/tags/v[0-9.]+$',
      },
    ],
    ['policy/reusable-name', { issuer: GITHUB, repository: REPOSITORY, ref: 'refs/tags/v*' }],
    ['policy/broad-source', { issuer: GITHUB, repositoryId: '123' }],
    ['policy/broad-source', { issuer: GITHUB, repositoryId: '123', ref: 'refs/*' }],
  ])('has the warning %s: %j', (code, signer) => {
    expect(codes([signer])).toEqual([code]);
    expect(codes([{ ...signer, revoked: 'stolen' }])).toEqual([]);
  });

  it.each<object>([
    { issuer: GITHUB, repositoryId: '1', ref: 'refs/heads/main' },
    { issuer: GITHUB, ownerId: '1', environment: 'release' },
    { issuer: GITHUB, repositoryId: '1', subject: `${WORKFLOW}@refs/heads/main` },
    { issuer: 'https://accounts.google.com', subject: 'a@example.com' },
    { issuer: 'https://token.example.com', subject: 'ci' },
    { key: PEM },
  ])('has no warning: %j', (signer) => {
    expect(codes([signer])).toEqual([]);
  });

  it('has the lines to add in the hint', () => {
    const { diagnostics } = read([{ issuer: GITHUB, subject: `${WORKFLOW}@refs/heads/main` }]);
    const { hint } = diagnostics[0]!;
    expect(hint).toContain('`repositoryId: "ID"` and `ownerId: "ID"`');
    expect(hint).toContain('gh api repos/example/functions --jq ');
  });
});

describe('how many signers must sign', () => {
  const three = ['a', 'b', 'c'].map((subject) => ({ issuer: 'https://token.example.com', subject }));

  it('is read, and survives a round trip', () => {
    for (const more of [{ atLeast: 2 }, { requireAll: true }]) {
      const { policies } = read(three, more);
      expect(policies).toMatchObject([more]);
      const again = JSON.stringify(trustDocument(policies![0]!));
      expect(readSigningPolicies(new TextEncoder().encode(again), 'again').policies).toEqual(policies);
    }
    expect(read(three, { atLeast: 1, requireAll: false }).policies![0]).not.toHaveProperty('atLeast');
  });

  it.each<[string, object]>([
    ['policy/threshold', { atLeast: 4 }],
    ['policy/threshold', { atLeast: 2, requireAll: true }],
    ['policy/wrong-type', { atLeast: 0 }],
    ['policy/wrong-type', { atLeast: '2' }],
    ['policy/wrong-type', { atLeast: 1.5 }],
    ['policy/wrong-type', { requireAll: 'yes' }],
    ['policy/wrong-type', { requireAll: null }],
  ])('is refused with %s: %j', (code, more) => {
    expect(read(three, more).policies).toBeUndefined();
    expect(codes(three, more)).toContain(code);
  });

  it('does not count revoked signers', () => {
    const revoked = three.map((signer, at) => (at === 0 ? { ...signer, revoked: 'stolen' } : signer));
    expect(codes(revoked, { atLeast: 3 })).toEqual(['policy/threshold']);
    expect(codes(revoked, { atLeast: 2 })).toEqual([]);
  });
});
