import {
  type NewEvent,
  type ReleaseBundle,
  RevisionConflict,
  releaseAttestations,
  releaseSignatures,
  type Signer,
} from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf } from './sample-records.js';

const event: NewEvent = { type: 'policy.applied', at: AT, by: 'admin', reason: 'team' };

function bundleOf(text: string, more: Partial<ReleaseBundle> = {}): ReleaseBundle {
  return {
    digest: sha256(text),
    size: text.length,
    manifest: sha256(`manifest of ${text}`),
    claim: 'signature',
    predicateType: 'https://krmhub.dev/release/v1',
    signer: { type: 'identity', issuer: 'https://token.example.com', subject: 'Jürgen 漢' },
    signedAt: AT,
    receivedAt: AT,
    receivedBy: 'publisher',
    ...more,
  };
}

export function policyContract(harness: () => RegistryStoreHarness): void {
  const store = (): RegistryStore => harness().store;
  const apply = (text: string, expectedRevision: number) =>
    store().applyPolicies({ text, appliedAt: AT, appliedBy: 'admin', expectedRevision, event });
  const signed = (bundles: ReleaseBundle[], revision = 0, action: 'insert' | 'update' = 'insert') => {
    const change = changeOf({ kind: 'Signed' }, revision, action);
    const release = { ...change.release, bundles };
    const search = {
      ...change.search,
      signatures: releaseSignatures(release),
      attestations: releaseAttestations(release),
    };
    return { ...change, release, search };
  };

  describe('signing policies', () => {
    it('are empty at first, and then the last applied text, with an event for each', async () => {
      expect(await store().policies()).toBeUndefined();
      await apply('first', 0);
      await apply('second\n# 漢', 1);
      expect(await store().policies()).toEqual({
        revision: 2,
        text: 'second\n# 漢',
        appliedAt: AT,
        appliedBy: 'admin',
      });
      expect(await store().events(0, 10)).toMatchObject([event, event]);
    });

    it('are replaced only by a client that has seen the last version', async () => {
      await apply('first', 0);
      await expect(apply('second', 0)).rejects.toThrow(RevisionConflict);
      await expect(apply('second', 2)).rejects.toThrow(RevisionConflict);
      expect((await store().policies())?.text).toBe('first');
      expect(await store().lastEvent()).toBe(1);
    });

    it('report whether they were applied after an event', async () => {
      const applied = (after: number) => store().appliedPolicies(after);
      expect(await applied(0)).toBe(false);
      await apply('first', 0);
      await store().commitFunction(changeOf({ kind: 'A' }));
      expect([await applied(0), await applied(1)]).toEqual([true, false]);
      await apply('second', 1);
      expect([await applied(0), await applied(1), await applied(2), await applied(3)]).toEqual([
        true,
        true,
        true,
        false,
      ]);
    });

    it('must be the ones that a change was checked against', async () => {
      await apply('first', 0);
      const change = changeOf({ kind: 'Judged' });
      await expect(store().commitFunction({ ...change, expectedPolicies: 0 })).rejects.toThrow(
        RevisionConflict,
      );
      expect(await store().function('example.com', 'Judged')).toBeUndefined();
      await store().commitFunction({ ...change, expectedPolicies: 1 });
    });
  });

  describe('bundles of releases', () => {
    it('are stored with the release, in the order of their arrival', async () => {
      const bundles = [bundleOf('a'), bundleOf('b', { claim: 'attestation' })];
      await store().commitFunction(signed(bundles));
      expect((await store().release('example.com', 'Signed', '1.0.0'))?.bundles).toEqual(bundles);
      expect((await store().function('example.com', 'signed'))?.releases[0]?.bundles).toEqual(bundles);
    });

    it('can be added later, and search knows the signers of the displayed release', async () => {
      await store().commitFunction(changeOf({ kind: 'Signed' }));
      expect(await store().release('example.com', 'Signed', '1.0.0')).not.toHaveProperty('bundles');
      expect((await store().search({ limit: 1 })).items[0]?.signatures).toEqual([]);
      const sbom = bundleOf('sbom', { claim: 'attestation', predicateType: 'https://spdx.dev/Document' });
      const source = { sourceRepositoryIdentifier: '123', deploymentEnvironment: 'é🍌"\\' };
      const signer = { ...bundleOf('late').signer!, source } as Signer;
      const late = signed([bundleOf('late', { signer }), sbom], 1, 'update');
      await store().commitFunction({ ...late, event: { ...late.event, type: 'release.attested' } });
      expect((await store().release('example.com', 'Signed', '1.0.0'))?.bundles).toEqual(
        late.release.bundles,
      );
      expect((await store().search({ limit: 1 })).items[0]).toMatchObject({
        signatures: late.search.signatures,
        attestations: [{ predicateType: 'https://spdx.dev/Document' }],
      });
      const trusting = (type: 'sbom' | 'tests') => ({
        revision: type === 'sbom' ? 1 : 2,
        policies: [
          {
            name: 'team',
            groups: ['*'],
            signers: [{ issuer: 'https://token.example.com', subject: 'Jürgen 漢' }],
            attestations: [{ type }],
          },
        ],
      });
      for (const [type, count] of [
        ['sbom', 1],
        ['tests', 0],
      ] as const) {
        const found = await store().search({ limit: 1, signed: ['true'], trust: trusting(type) });
        expect(found.items).toHaveLength(count);
      }
    });

    it('are deleted with the release', async () => {
      await store().commitFunction(signed([bundleOf('a')]));
      const { digest } = changeOf({ kind: 'Signed' }).release;
      const takedown = {
        group: 'example.com',
        kind: 'Signed',
        release: '1.0.0',
        digest,
        at: AT,
        by: 'admin',
        reason: 'malware',
      };
      await store().commitTakedown({
        group: 'example.com',
        kind: 'Signed',
        expectedRevision: 1,
        takedowns: [takedown],
      });
      expect(await store().function('example.com', 'Signed')).toBeUndefined();
    });

    it('stay when the lifecycle of the release changes', async () => {
      await store().commitFunction(signed([bundleOf('a')]));
      const marked = signed([bundleOf('a')], 1, 'update');
      const yanked = { at: AT, by: 'admin', reason: 'broken' };
      const of = { ...marked.event, type: 'release.yanked' } as const;
      await store().commitFunction({ ...marked, release: { ...marked.release, yanked }, event: of });
      expect(await store().release('example.com', 'Signed', '1.0.0')).toMatchObject({
        yanked,
        bundles: [bundleOf('a')],
      });
    });
  });
}
