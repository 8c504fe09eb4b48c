import { KrmhubError } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { FunctionChange, ReleaseBundle, Signer } from '../ports/records.js';
import { functionRecord, NOW, releaseRecord } from '../testing/records.js';
import { searchDocument } from './displayed-release.js';
import { planTrust } from './trust.js';

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
  { policies = [], problems = [] }: { policies?: readonly SigningPolicy[]; problems?: string[] } = {},
): string | undefined {
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
  const planned = planTrust({
    change,
    bundles: signers.map(bundle),
    problems,
    policies,
    current: releases.length === 0 ? undefined : functionRecord(releases),
  });
  return planned instanceof KrmhubError ? planned.message : undefined;
}

describe('without a policy, the first signer of a function', () => {
  it('may be anyone, and nothing is required before', () => {
    expect(plan([], [])).toBeUndefined();
    expect(plan([[]], [])).toBeUndefined();
    expect(plan([[]], [OWNER])).toBeUndefined();
    expect(plan([[OWNER], []], [OWNER])).toBeUndefined();
  });

  it('is required from then on', () => {
    const before = `previous releases are signed by the key ${digest('a')}`;
    expect(plan([[OWNER]], [])).toContain(`${before}, and this one is not`);
    expect(plan([[OWNER], []], [])).toContain(before);
    expect(plan([[OWNER]], [], { problems: ['it is damaged'] })).toContain('it is damaged');
    expect(plan([[OWNER]], [OTHER])).toContain(`it is signed by the key ${digest('b')}, and ${before}`);
  });

  it('does not bring another signer in', () => {
    expect(plan([[OWNER]], [OWNER, OTHER])).toContain(`it is signed by the key ${digest('b')}`);
  });

  it('is not replaced by anyone if its key could not be identified', () => {
    for (const signers of [[], [OTHER]]) {
      expect(plan([[undefined]], signers)).toContain('a key that this registry could not identify');
    }
  });

  it('is replaced by the signers of a policy that covers the release', () => {
    const signers = [{ key: 'PEM', fingerprint: digest('b') }];
    const policies = [{ name: 'team', groups: ['example.com'], signers }];
    expect(plan([[OWNER]], [OTHER], { policies })).toBeUndefined();
    expect(plan([[OWNER]], [OWNER], { policies })).toContain('which the policy team does not name');
  });

  it('ends with a revocation by any policy', () => {
    const signers = [{ key: 'PEM', fingerprint: digest('a'), revoked: 'stolen' }];
    const policies = [{ name: 'team', groups: ['other.example'], signers }];
    expect(plan([[OWNER]], [OWNER], { policies })).toContain('revokes: stolen');
    expect(plan([[OWNER]], [], { policies })).toContain('this one is not');
  });
});
