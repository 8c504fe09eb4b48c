import { KrmhubError, type Takedown } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { FunctionChange, ReleaseBundle, Signer } from '../ports/records.js';
import { functionRecord, NOW, releaseRecord } from '../testing/records.js';
import { BUNDLE_LIMITS } from './attach.js';
import { searchDocument } from './displayed-release.js';
import { planTrust, type TrustInput } from './trust.js';

const digest = (character: string) => `sha256:${character.repeat(64)}` as const;
const OWNER: Signer = { type: 'key', fingerprint: digest('a') };
const OTHER: Signer = { type: 'key', fingerprint: digest('b') };

function bundle(signer: Signer | undefined): ReleaseBundle {
  return {
    digest: signer?.type === 'key' ? signer.fingerprint : digest('0'),
    size: 1,
    manifest: digest('c'),
    claim: 'signature',
    predicateType: 'https://krmhub.dev/release/v1',
    receivedAt: NOW,
    receivedBy: 'alice',
    ...(signer === undefined ? {} : { signer }),
  };
}

/** Plans 2.0.0 after releases with these signers. */
function plan(
  earlier: readonly (readonly (Signer | undefined)[])[],
  signers: readonly Signer[],
  {
    policies = [],
    problems = [],
    takedowns = [],
    others = [],
  }: {
    policies?: readonly SigningPolicy[];
    problems?: string[];
    takedowns?: readonly Takedown[];
    others?: readonly ReleaseBundle[];
  } = {},
): string | undefined {
  const planned = planWith({ earlier, signers, policies, problems, takedowns, others });
  return planned instanceof KrmhubError ? planned.message : undefined;
}

function planWith({
  earlier,
  signers,
  ...given
}: Pick<TrustInput, 'policies' | 'problems' | 'takedowns'> & {
  earlier: readonly (readonly (Signer | undefined)[])[];
  signers: readonly Signer[];
  others: readonly ReleaseBundle[];
}): FunctionChange | KrmhubError {
  const releases = earlier.map((all, index) =>
    releaseRecord(`1.${index}.0`, undefined, all.length === 0 ? {} : { bundles: all.map(bundle) }),
  );
  const release = releaseRecord('2.0.0');
  const change: FunctionChange = {
    group: release.group,
    kind: release.kind,
    expectedRevision: releases.length,
    action: 'insert',
    release,
    search: searchDocument(release, [release], release),
    event: { type: 'release.published', at: NOW, by: 'alice' },
  };
  return planTrust({
    ...given,
    change,
    bundles: signers.map(bundle),
    current: releases.length === 0 ? undefined : functionRecord(releases),
  });
}

function takedown(release: string, signers: Takedown['signers']): Takedown {
  return {
    group: 'example.com',
    kind: 'SetLabels',
    release,
    digest: digest('d'),
    at: NOW,
    by: 'root',
    reason: 'malware',
    ...(signers === undefined ? {} : { signers }),
  };
}

describe('without a policy, the first signer of a function', () => {
  it('can be anyone, and is not required for the first release', () => {
    expect(plan([], [])).toBeUndefined();
    expect(plan([[]], [])).toBeUndefined();
    expect(plan([[]], [OWNER])).toBeUndefined();
    expect(plan([[OWNER], []], [OWNER])).toBeUndefined();
  });

  it('is required for later releases', () => {
    const before = `previous releases are signed by the key ${digest('a')}`;
    expect(plan([[OWNER]], [])).toContain(`${before}, and this one is not`);
    expect(plan([[OWNER], []], [])).toContain(before);
    expect(plan([[OWNER]], [], { problems: ['it is corrupt'] })).toContain('it is corrupt');
    expect(plan([[OWNER]], [OTHER])).toContain(`it is signed by the key ${digest('b')}, and ${before}`);
  });

  it('cannot add another signer', () => {
    expect(plan([[OWNER]], [OWNER, OTHER])).toContain(`it is signed by the key ${digest('b')}`);
  });

  it('cannot be replaced if its key is unknown', () => {
    for (const signers of [[], [OTHER]]) {
      expect(plan([[undefined]], signers)).toContain('a key that this registry could not identify');
    }
  });

  it('is replaced by the signers of a policy that covers the release', () => {
    const signers = [{ key: 'PEM', fingerprint: digest('b') }];
    const policies = [{ name: 'team', groups: ['example.com'], signers }];
    expect(plan([[OWNER]], [OTHER], { policies })).toBeUndefined();
    expect(plan([[OWNER]], [OWNER], { policies })).toContain(
      'but the policy team does not allow this signer',
    );
  });

  it('ends with a revocation by any policy', () => {
    const signers = [{ key: 'PEM', fingerprint: digest('a'), revoked: 'stolen' }];
    const policies = [{ name: 'team', groups: ['other.example'], signers }];
    expect(plan([[OWNER]], [OWNER], { policies })).toContain('revokes this signer: stolen');
    expect(plan([[OWNER]], [], { policies })).toContain('this one is not');
  });

  it('is required also after a takedown of all signed releases', () => {
    const takedowns = [takedown('0.9.0', undefined), takedown('1.0.0', [OWNER])];
    const before = `release 1.0.0, which was taken down, was signed by the key ${digest('a')}`;
    for (const earlier of [[], [[]]]) {
      expect(plan(earlier, [], { takedowns })).toContain(`${before}, and this one is not`);
      expect(plan(earlier, [OTHER], { takedowns })).toContain(before);
      expect(plan(earlier, [OWNER, OTHER], { takedowns })).toContain(before);
      expect(plan(earlier, [OWNER], { takedowns })).toBeUndefined();
    }
    expect(plan([[OTHER]], [OWNER], { takedowns })).toBeUndefined();
    expect(plan([], [OTHER], { takedowns: [takedown('1.0.0', undefined)] })).toBeUndefined();
    const unidentified = [takedown('1.0.0', [{ type: 'unidentified' }])];
    expect(plan([], [OTHER], { takedowns: unidentified })).toContain('could not identify');
  });
});

describe('bundles that others pushed before the release', () => {
  const others = [bundle(OTHER), bundle(OWNER)];
  const policies = [
    { name: 'team', groups: ['example.com'], signers: [{ key: 'PEM', fingerprint: digest('a') }] },
  ];
  const signers = (planned: FunctionChange | KrmhubError) =>
    planned instanceof KrmhubError ? planned.message : planned.release.bundles?.map(({ signer }) => signer);
  const given = { problems: [], policies: [], takedowns: [], others };

  it('pin no signer', () => {
    expect(signers(planWith({ ...given, earlier: [], signers: [] }))).toBeUndefined();
    expect(signers(planWith({ ...given, earlier: [], signers: [OWNER] }))).toEqual([OWNER]);
  });

  it('do not prevent a release by the pinned signer, and do not count', () => {
    expect(signers(planWith({ ...given, earlier: [[OWNER]], signers: [OWNER] }))).toEqual([OWNER]);
    expect(plan([[OWNER]], [], { others: [bundle(OTHER)] })).toContain('this one is not');
  });

  it('count if their signer is pinned or trusted', () => {
    expect(signers(planWith({ ...given, earlier: [[OWNER]], signers: [] }))).toEqual([OWNER]);
    expect(signers(planWith({ ...given, policies, earlier: [], signers: [] }))).toEqual([OWNER]);
    expect(plan([], [], { policies, others: [bundle(OTHER)] })).toContain('it is not signed');
  });

  it('do not displace evidence of the publisher', () => {
    const many = Array.from({ length: 100 }, (_, at): ReleaseBundle => {
      const digest = `sha256:${at.toString().padStart(64, '0')}` as const;
      return { ...bundle(undefined), claim: 'attestation', digest };
    });
    const planned = planWith({ ...given, others: many, earlier: [], signers: [OWNER] });
    expect(signers(planned)?.[0]).toEqual(OWNER);
    expect(signers(planned)).toHaveLength(1 + BUNDLE_LIMITS.maxUnverifiedPerRelease);
  });
});
