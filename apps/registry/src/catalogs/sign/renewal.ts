import {
  type CatalogReader,
  type CatalogRecord,
  type EntryReader,
  renderSnapshot,
  type SnapshotSignature,
} from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { verifySnapshot } from '@krmhub/signing/verify-snapshot';
import { SERVER_LIMITS } from '../../limits.js';
import type { Log } from '../../log.js';
import type { Metrics } from '../../metrics.js';
import { catalogRepository } from '../../store/artifacts/repositories.js';
import { RepeatedWork } from '../../workers/processes/repeated-work.js';
import type { ProfileSigningDeps } from './sign-profile.js';
import { type SigningDeps, signatureArtifact, signSnapshot, snapshotDigests } from './sign-snapshot.js';

export interface RenewalDeps {
  store: CatalogReader & EntryReader & ProfileSigningDeps['store'];
  signing: SigningDeps;
  metrics: Metrics;
  log: Log;
}

/**
 * Keeps the newest snapshot of every catalog signed with the current key and for some time to come, without a new
 * serial. Other snapshots keep their signature.
 */
export class SignatureRenewal extends RepeatedWork {
  readonly #deps: RenewalDeps;

  constructor(deps: RenewalDeps) {
    const { log } = deps;
    const failed = 'cannot renew signatures';
    super({ pause: SERVER_LIMITS.renewEveryMilliseconds, isFirstNow: false, log, failed });
    this.#deps = deps;
  }

  override run(): Promise<number> {
    return this.renew();
  }

  /**
   * Returns the number of new signatures. `thorough` also verifies signatures that should still be valid. A catalog
   * that cannot be signed is logged, and the others continue.
   */
  async renew({ thorough = false } = {}): Promise<number> {
    const { store, log } = this.#deps;
    let renewed = 0;
    for (const catalog of await store.catalogs()) {
      if (this.isStopped) break;
      try {
        if (await renewCatalog(this.#deps, catalog, thorough)) renewed += 1;
      } catch (error) {
        log.error({ err: error, catalog: catalog.name }, 'cannot renew the signature of a snapshot');
      }
    }
    return renewed;
  }
}

async function renewCatalog(
  deps: RenewalDeps,
  { newest }: CatalogRecord,
  thorough: boolean,
): Promise<boolean> {
  if (newest === undefined || newest.withdrawn !== undefined) return false;
  const { store, signing, metrics, log } = deps;
  const { catalog, serial } = newest;
  const repository = catalogRepository(catalog);
  const manifest = await store.manifestDescriptor(repository, String(serial));
  if (manifest === undefined) throw new Error(`snapshot ${serial} of ${catalog} has no manifest`);
  const known = await store.snapshotSignature(catalog, serial);
  // Also if the renewal fails, so that operators see the expiry.
  if (known !== undefined) metrics.signatureExpires(catalog, Date.parse(known.expiresAt));
  if (known !== undefined && (await isGood(signing, known))) {
    if (!thorough || (await signedDigests(deps, known)) !== undefined) {
      // Clients that may push can delete the referrer.
      const artifact = signatureArtifact(known, manifest);
      if ((await store.manifestDescriptor(repository, artifact.manifest.digest)) === undefined) {
        await store.renewSignature(known, artifact);
      }
      return false;
    }
  }
  const digests =
    (await signedDigests(deps, known)) ??
    snapshotDigests(
      newest,
      sha256(renderSnapshot(newest, await store.snapshotEntryRows(catalog, serial))),
      manifest,
    );
  const { signature, artifact } = await signSnapshot(signing, newest, digests, manifest);
  if (!(await store.renewSignature(signature, artifact))) return false;
  const { key, expiresAt } = signature;
  metrics.signatureExpires(catalog, Date.parse(expiresAt));
  log.info({ catalog, serial, key, expiresAt, before: known?.key }, 'renewed the signature of a snapshot');
  return true;
}

async function isGood(
  { keys, clock, validDays }: SigningDeps,
  signature: SnapshotSignature,
): Promise<boolean> {
  if (signature.key !== (await keys.signing()).publicKey.fingerprint) return false;
  const valid = validDays * 86_400_000;
  const left = Date.parse(signature.expiresAt) - clock().getTime();
  // If more is left, the setting was lowered.
  return left >= valid / 2 && left <= valid;
}

/** Returns the digests of the previous signature if it is ours: only the expiry changes. */
async function signedDigests(
  { signing, log }: RenewalDeps,
  known: SnapshotSignature | undefined,
): Promise<Record<string, string> | undefined> {
  if (known === undefined) return undefined;
  const { catalog, serial } = known;
  const keys = (await signing.keys.all()).map(({ publicKey }) => publicKey);
  const { signed } = verifySnapshot(new TextEncoder().encode(known.bundle), keys);
  if (signed?.claim.catalog === catalog && signed.claim.serial === serial)
    return Object.fromEntries(signed.digests);
  log.warn({ catalog, serial, key: known.key }, 'a stored signature is not from a key of this registry');
  return undefined;
}
