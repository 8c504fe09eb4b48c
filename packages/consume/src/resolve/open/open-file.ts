import type { NamedCatalog } from '../../references/parse-catalog.js';
import { requireTrust, type TrustGrant, withKey } from '../../trust/catalog-trust.js';
import type { PinnedSnapshot } from '../../trust/require-snapshot.js';
import { IndexedDocument } from '../read/indexed-document.js';
import { forgetLocalFile, openLocalFile, readSiblingBundles } from '../read/local-file.js';
import { WholeCatalog } from '../read/whole-catalog.js';
import type { OpenContext, OpenedCatalog } from './open-context.js';
import { signedState } from './signed-state.js';

/** Opens a catalog on this disk. A signature beside it counts if a key of its registry is pinned. */
export async function openFile(
  context: OpenContext,
  catalog: NamedCatalog,
  file: string,
  grants: readonly TrustGrant[],
  hasPins: boolean,
): Promise<OpenedCatalog> {
  const { io, cache } = context;
  const first = await openLocalFile(file, { ...context, now: io.now });
  const signed = hasPins ? await verifyFile(context, catalog, file, first) : undefined;
  const trustedBy = requireTrust(io, catalog, withKey(grants, signed?.key), { bytes: first.digest });
  let known: typeof first | undefined = first;
  const reader = await WholeCatalog.open(file, async () => {
    const document = known ?? (await reopen());
    known = undefined;
    return {
      document: await IndexedDocument.open(document, context),
      store: context,
      state: signedState(document.digest, document.digest === first.digest ? signed : undefined),
    };
  });
  /** The index is damaged, or the file has changed after it was trusted. */
  async function reopen(): Promise<typeof first> {
    await forgetLocalFile(file, cache);
    const document = await openLocalFile(file, { ...context, now: io.now });
    await cache.remove(cache.indexPath(document.digest));
    const key = document.digest === first.digest ? signed?.key : undefined;
    requireTrust(io, catalog, withKey(grants, key), { bytes: document.digest });
    return document;
  }
  return { reader, trustedBy, warnings: [] };
}

async function verifyFile(
  { io }: OpenContext,
  { address, reference }: NamedCatalog,
  file: string,
  document: Awaited<ReturnType<typeof openLocalFile>>,
): Promise<PinnedSnapshot | undefined> {
  const bundles = await readSiblingBundles(file);
  if (bundles.length === 0 && io.snapshotLimits === undefined) return undefined;
  const { findSourcePin, verifyPinnedSource } = await import('../../trust/pinned-source.js');
  const { acceptQuietly } = await import('../../trust/require-snapshot.js');
  const pin = await findSourcePin(io, reference.text, address);
  if (pin === undefined) return undefined;
  return verifyPinnedSource(io, pin, { digest: document.digest, bundles }, acceptQuietly);
}
