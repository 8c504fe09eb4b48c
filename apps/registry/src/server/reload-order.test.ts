import { expect, it } from 'vitest';
import { SigningTrust } from '../publish/trust/signing-trust.js';
import { RegistryAccess } from '../store/stored-access.js';
import { newKey, policy } from '../testing/signing.js';

const [OLD, NEW] = [newKey(), newKey()];
const accessText = (visibility: string) => `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: {groups: [{pattern: example.com, visibility: ${visibility}}]}
`;

/** What a slow read of the stored document returns is as old as the read. */
async function whatRemains<Result>(
  texts: { old: string; new: string },
  reload: (read: () => Promise<{ text: string; revision: number; appliedAt: string; appliedBy: string }>) => {
    load(): Promise<void>;
    loaded(): Result;
  },
): Promise<Result> {
  const applied = { appliedAt: '2030-01-01T00:00:00.000Z', appliedBy: 'test' };
  let stored = { ...applied, text: texts.old, revision: 1 };
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let reads = 0;
  const { load, loaded } = reload(async () => {
    const found = stored;
    reads += 1;
    if (reads === 1) await answered;
    return found;
  });
  const early = load();
  await expect.poll(() => reads).toBe(1);
  stored = { ...applied, text: texts.new, revision: 2 };
  const late = load();
  // The late one could end now.
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  answer();
  await Promise.all([early, late]);
  return loaded();
}

it('access rules that were read before a change do not replace the new ones', async () => {
  const visibility = await whatRemains({ old: accessText('public'), new: accessText('private') }, (read) => {
    const access = new RegistryAccess();
    const store = { access: read, ownerClaims: async () => [] };
    return { load: () => access.reload(store), loaded: () => access.rules.visibilityOf('example.com') };
  });
  expect(visibility).toBe('private');
});

it('signing policies that were read before a change do not replace the new ones', async () => {
  const [old, fresh] = [policy([OLD]), policy([NEW])];
  const loaded = await whatRemains({ old, new: fresh }, (policies) => {
    const trust = new SigningTrust();
    return {
      load: () => trust.reload({ policies, appliedPolicies: async () => true }),
      loaded: () => [trust.revision, ...trust.keys.map(({ fingerprint }) => fingerprint)],
    };
  });
  expect(loaded).toEqual([2, NEW.fingerprint]);
});
