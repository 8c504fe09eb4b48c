import { repositoryUrl, verifyPinnedArtifact } from '@krmhub/consume/trust/pinned-artifact';
import { findPin } from '@krmhub/consume/trust/pinned-catalogs';
import { requireNoLimits } from '@krmhub/consume/trust/require-snapshot';
import type { Reference } from '@krmhub/oci';
import { formatReference } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { printData, printLine } from '../../io/print.js';
import { Progress } from '../../io/progress.js';
import { connectOci } from '../../registry/connect-oci.js';
import { consumePorts } from '../../registry/consume-ports.js';
import { checkBundleOption, type VerifyOptions } from '../print-bundle.js';
import { findTarget } from '../signing-target.js';

/**
 * Verifies a catalog in an OCI registry by the keys that are pinned for it, and prints the result. Returns false if it
 * is not pinned. Throws `untrusted` if no pinned key signed it.
 */
export async function verifyByPin(
  io: Io,
  name: string,
  reference: Reference,
  options: VerifyOptions,
): Promise<boolean> {
  if ((await findPin(io, repositoryUrl(reference))) === undefined) return false;
  const progress = new Progress(io);
  const client = connectOci(io, progress, options);
  try {
    const { digest } = await client.manifest(reference);
    await printLine(io, escapeControls(`resolved ${formatReference(reference)} to ${digest}`));
    const artifact = { artifact: name, digest };
    try {
      const pinned = await verifyPinnedArtifact(consumePorts(io), client, reference, digest);
      await progress.clear();
      await printData(io, options.output, { ...artifact, verified: true, ...pinned }, async () => undefined);
    } catch (error) {
      await progress.clear();
      if (!(error instanceof KrmhubError && error.code === 'untrusted')) throw error;
      await printData(io, options.output, { ...artifact, verified: false }, async () => undefined);
      throw error;
    }
  } finally {
    await progress.clear();
  }
  return true;
}

/**
 * Verifies a catalog whose snapshot the user limits with `--min-serial` or `--max-age`. Throws `untrusted` for
 * everything that is not pinned: only the signature of a snapshot has a serial.
 */
export async function verifyWithinLimits(io: Io, name: string, options: VerifyOptions): Promise<void> {
  const target = await findTarget(io, name);
  checkBundleOption(target, options);
  if (target.kind !== 'reference') return requireNoLimits(io, name);
  if (await verifyByPin(io, name, target.reference, options)) return;
  requireNoLimits(io, name, repositoryUrl(target.reference));
}
