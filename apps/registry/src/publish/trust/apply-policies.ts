import { isDeepStrictEqual } from 'node:util';
import type { PolicyResult } from '@krmhub/api/model';
import type { FunctionCommitter, FunctionReader, PolicyStore } from '@krmhub/catalog';
import {
  allSigners,
  applicablePolicies,
  type FunctionRecord,
  type ReleaseBundle,
  type ReleaseRecord,
  type SigningPolicy,
  SOURCE_FIELDS,
  searchDocument,
} from '@krmhub/catalog';
import type { ManifestReader } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { PROVENANCE_PREDICATE } from '@krmhub/signing';
import type { WakeableBuilder } from '../../catalogs/build/catalog-builder.js';
import type { Caller } from '../../http/auth/caller.js';
import { releaseVerdict } from '../../http/presentation.js';
import { functionRepository } from '../../store/artifacts/repositories.js';
import type { StoredBlobDeps } from '../../store/artifacts/stored-blob.js';
import { storedBytes } from '../../store/artifacts/stored-blob.js';
import type { FindStore } from '../../store/find-record.js';
import { findDisplayedRelease, findRelease } from '../../store/find-record.js';
import { retryOnConflict } from '../../store/retry-on-conflict.js';
import type { FunctionLocks } from '../function-locks.js';
import { refuseOtherText, replaceDocument } from '../replace-document.js';
import { signedRelease } from './attach-bundle.js';
import { verifySubmittedBundle } from './release-bundles.js';
import type { SigningTrust } from './signing-trust.js';

export interface ApplyPoliciesDeps extends StoredBlobDeps {
  store: StoredBlobDeps['store'] &
    FindStore &
    FunctionReader &
    FunctionCommitter &
    PolicyStore &
    ManifestReader;
  trust: SigningTrust;
  /** Serializes the changes of a function. */
  functionLocks: FunctionLocks;
  snapshotBuilder: WakeableBuilder;
  clock: () => Date;
}

const WORDS = { what: 'signing policies', show: 'krmhub policy list' };

/** Changed releases to list in a response. */
const MAX_CHANGES = 100;

/**
 * Replaces the policies, and reports which releases become trusted or untrusted; `dryRun` only reports. `replaces` is
 * the digest of the text that the caller knows: another one is a `conflict`. Rejects with `invalid-document` if only a
 * newer version of the program reads the stored ones.
 */
export async function applyPolicies(
  deps: ApplyPoliciesDeps,
  { text, policies }: { text: string; policies: SigningPolicy[] },
  {
    by,
    origin,
    dryRun,
    remove,
    replaces,
  }: Caller & { dryRun: boolean; remove: boolean; replaces?: string | undefined },
): Promise<Omit<PolicyResult, 'diagnostics'>> {
  const { store, trust, clock } = deps;
  const stored = await store.policies();
  // Another process can have changed them. What this version does not read, it does not replace.
  await trust.reload(store);
  const result = { dryRun, policies: policies.length };
  const before = trust.policies;
  refuseOtherText(WORDS, stored, replaces);
  if (!remove) refuseRemovals(before, policies);
  if (stored?.text === text) {
    const { coverage } = await findChanges(deps, before, before);
    return { outcome: 'unchanged', ...result, changes: [], changed: 0, coverage };
  }
  if (!dryRun) {
    const change = {
      text,
      at: clock().toISOString(),
      by,
      origin,
      event: { type: 'policy.applied', reason: policies.map(({ name }) => name).join(', ') || 'none' },
    } as const;
    await replaceDocument(WORDS, stored, change, (applied) => store.applyPolicies(applied));
    await trust.reload(store);
    await recognize(deps, before);
    // Catalogs may follow the policies.
    deps.snapshotBuilder.wake();
  }
  return { outcome: 'changed', ...result, ...(await findChanges(deps, before, policies)) };
}

async function findChanges(
  { store }: ApplyPoliciesDeps,
  before: readonly SigningPolicy[],
  after: readonly SigningPolicy[],
): Promise<Pick<PolicyResult, 'changes' | 'changed' | 'coverage'>> {
  const changes: PolicyResult['changes'] = [];
  let changed = 0;
  const functions = new Map(after.map(({ name }) => [name, 0]));
  for await (const { group, kind, releases } of store.allFunctions()) {
    const covering = new Set(
      releases.flatMap(({ release }) =>
        applicablePolicies(after, { group, release }).map(({ name }) => name),
      ),
    );
    for (const name of covering) functions.set(name, functions.get(name)! + 1);
    for (const release of releases) {
      const name = { group, kind, release: release.release };
      const was = releaseVerdict(before, name, release);
      const is = releaseVerdict(after, name, release);
      if (was.state === is.state) continue;
      changed += 1;
      if (changes.length < MAX_CHANGES) changes.push({ ...name, before: was, after: is });
    }
  }
  const coverage = [...functions].map(([name, count]) => ({ name, functions: count }));
  return { changes, changed, coverage };
}

/** A file that lost a document, or a program that wrote an empty one, would silently end the protection of groups. */
function refuseRemovals(before: readonly SigningPolicy[], after: readonly SigningPolicy[]): void {
  const names = new Set(after.map(({ name }) => name));
  const gone = before.map(({ name }) => name).filter((name) => !names.has(name));
  if (gone.length === 0) {
    if (after.length > 0) return;
    throw new KrmhubError('invalid-document', 'the text contains no signing policy', {
      hint: 'Add at least one SigningPolicy. To remove all policies, use `krmhub policy apply --remove`.',
    });
  }
  throw new KrmhubError('conflict', `this would remove policies: ${gone.join(', ')}`, {
    hint: 'Nothing was changed. Add them from `krmhub policy list --text`, or remove them with `krmhub policy apply --remove`.',
  });
}

/**
 * Verifies bundles again whose records lack what new policies need: bundles by unknown keys if the policies name keys or
 * cover their groups, and those of older versions if the policies require a source.
 */
async function recognize(deps: ApplyPoliciesDeps, before: readonly SigningPolicy[]): Promise<void> {
  const known = new Set(keyFingerprints(before));
  const isNew = keyFingerprints(deps.trust.policies).some((key) => !known.has(key));
  const needsClaims = requiresClaims(deps.trust.policies) && !requiresClaims(before);
  for await (const fn of deps.store.allFunctions()) {
    for (const release of fn.releases) {
      const lacking = (release.bundles ?? []).filter(lacksClaims);
      const name = { group: fn.group, kind: fn.kind, release: release.release };
      if (lacking.length === 0 || applicablePolicies(deps.trust.policies, name).length === 0) continue;
      const isCovered = applicablePolicies(before, name).length > 0;
      const hasUnknown = lacking.some(({ signer }) => signer === undefined);
      if (!needsClaims && (!hasUnknown || (!isNew && isCovered))) continue;
      await deps.functionLocks.run(fn, 'no token', () => recognizeRelease(deps, name));
    }
  }
}

/** Whether the record of a bundle lacks its signer, or what older versions did not read of it. */
function lacksClaims({ signer, predicateType, provenance }: ReleaseBundle): boolean {
  if (signer === undefined || (predicateType === PROVENANCE_PREDICATE && provenance === undefined))
    return true;
  return signer.type === 'identity' && signer.source === undefined;
}

function requiresClaims(policies: readonly SigningPolicy[]): boolean {
  return policies.some(
    (policy) =>
      policy.attestations !== undefined ||
      allSigners(policy).some((signer) => SOURCE_FIELDS.some((field) => field in signer)),
  );
}

function keyFingerprints(policies: readonly SigningPolicy[]): string[] {
  return policies.flatMap((policy) =>
    allSigners(policy).flatMap((signer) => ('fingerprint' in signer ? [signer.fingerprint] : [])),
  );
}

function recognizeRelease(
  deps: ApplyPoliciesDeps,
  name: { group: string; kind: string; release: string },
): Promise<void> {
  const { store, clock } = deps;
  const recognizeOnce = async () => {
    const { fn, release } = await findRelease(store, name);
    const bundles = await recognizeBundles(deps, release);
    if (isDeepStrictEqual(bundles, release.bundles)) return;
    const changed: ReleaseRecord = { ...release, bundles };
    const shown = await findDisplayedRelease(store, fn, changed);
    await store.commitFunction({
      group: fn.group,
      kind: fn.kind,
      expectedRevision: fn.revision,
      action: 'update',
      release: changed,
      search: searchDocument(fn, releasesWith(fn, changed), shown),
      event: {
        type: 'release.attested',
        at: clock().toISOString(),
        by: 'krmhub',
        ...name,
        digest: release.digest,
        reason: 'evaluated again with the new policies',
      },
    });
  };
  return retryOnConflict(recognizeOnce, { exhausted: () => undefined });
}

async function recognizeBundles(deps: ApplyPoliciesDeps, release: ReleaseRecord): Promise<ReleaseBundle[]> {
  const { signed } = await signedRelease(deps.store, release);
  const repository = functionRepository(release);
  const bundles: ReleaseBundle[] = [];
  for (const bundle of release.bundles ?? []) {
    if (!lacksClaims(bundle)) {
      bundles.push(bundle);
      continue;
    }
    const bytes = await storedBytes(deps, repository, bundle.digest);
    const found =
      bytes === undefined
        ? { problem: 'its bytes are missing' }
        : verifySubmittedBundle(deps.trust, signed, { bytes });
    if ('problem' in found || found.signer === undefined) {
      bundles.push(bundle);
      continue;
    }
    const { signer, signedAt, isWhole, provenance } = found;
    bundles.push({
      ...bundle,
      signer,
      ...defined({ signedAt, isWhole, provenance }),
    });
  }
  return bundles;
}

function releasesWith({ releases }: FunctionRecord, changed: ReleaseRecord): FunctionRecord['releases'] {
  return releases.map((one) => (one.release === changed.release ? changed : one));
}
