/**
 * Opens a catalog if the user trusts it.
 *
 * Of a catalog in a registry that the user trusts by its name, only the needed entries are read. One with a pinned key
 * is read as a whole, because an entry alone is not signed.
 *
 * @module
 */

import { type Digest, isDigest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import type { NamedCatalog, RegistryCatalog } from '../../references/parse-catalog.js';
import {
  type CatalogGrants,
  requireTrust,
  type TrustGrant,
  unknownDigest,
  withKey,
} from '../../trust/catalog-trust.js';
import { hasTrustFile } from '../../trust/has-trust-file.js';
import type { OpenContext, OpenedCatalog } from './open-context.js';

/** Opens a catalog that is needed. Throws `untrusted` if it is not trusted, and the errors of reading it. */
export async function openCatalog(
  context: OpenContext,
  trust: CatalogGrants,
  catalog: NamedCatalog,
): Promise<OpenedCatalog> {
  const grants = trust.grants(catalog);
  const { namedBy } = catalog.reference;
  // What the user trusts may be anywhere. For the rest, not even the digest is read of a private address.
  const isGuarded = namedBy !== undefined && grants.length === 0 && !(await isPinned(context, catalog));
  const guarded = isGuarded ? { ...context, fetcher: context.fetcher.namedBy(namedBy) } : context;
  try {
    return await open(guarded, catalog, grants);
  } catch (error) {
    const isKnown = error instanceof KrmhubError && error.code !== 'untrusted';
    if (!isKnown || grants.length > 0 || catalog.address.type === 'file') throw error;
    if (await isPinned(context, catalog)) throw error;
    // Whether it can be read does not matter before someone trusts it.
    throw unknownDigest(context.io, catalog, error);
  }
}

/** A catalog with a pinned key is trusted as soon as it can be read. */
export async function isPinned(
  { io }: Pick<OpenContext, 'io'>,
  { address, registry }: NamedCatalog,
): Promise<boolean> {
  if (!(await hasTrustFile(io))) return false;
  const { findPin } = await import('../../trust/pinned-catalogs.js');
  if (registry !== undefined) {
    return (await findPin(io, `${registry.url}/catalogs/${registry.name}`)) !== undefined;
  }
  if (address.type === 'http') return (await findPin(io, address.url)) !== undefined;
  if (address.type !== 'oci') return false;
  const { repositoryUrl } = await import('../../trust/pinned-artifact.js');
  const { parseReference } = await import('@krmhub/oci');
  return (await findPin(io, repositoryUrl(parseReference(address.reference)))) !== undefined;
}

async function open(
  context: OpenContext,
  catalog: NamedCatalog,
  grants: readonly TrustGrant[],
): Promise<OpenedCatalog> {
  const { address, registry } = catalog;
  const hasPins = context.io.snapshotLimits !== undefined || (await hasTrustFile(context.io));
  if (registry !== undefined) {
    const pinned = hasPins ? await openPinned(context, catalog, registry, grants) : undefined;
    if (pinned !== undefined) return pinned;
    const byName = grants.find(({ digest }) => digest === undefined);
    const needsBytes =
      catalog.digest !== undefined || registry.snapshot !== undefined || registry.file === 'catalog.json';
    if (byName !== undefined && !needsBytes) return openSparse(context, catalog, registry, byName);
    if (grants.length === 0 && !needsBytes) await refuseRegistry(context, catalog, registry);
  }
  if (address.type === 'file') {
    const { openFile } = await import('./open-file.js');
    return openFile(context, catalog, address.path, grants, hasPins);
  }
  const { openRemote } = await import('./open-remote.js');
  return openRemote(context, catalog, grants, hasPins);
}

async function openPinned(
  context: OpenContext,
  catalog: NamedCatalog,
  registry: RegistryCatalog,
  grants: readonly TrustGrant[],
): Promise<OpenedCatalog | undefined> {
  const { findPin } = await import('../../trust/pinned-catalogs.js');
  const url = `${registry.url}/catalogs/${registry.name}`;
  const pin = await findPin(context.io, url);
  if (pin === undefined) {
    const { requireNoLimits } = await import('../../trust/require-snapshot.js');
    requireNoLimits(context.io, `catalog ${catalog.reference.text}`, url);
    return undefined;
  }
  const { openPinnedSnapshot } = await import('./pinned-snapshot.js');
  const { WholeCatalog } = await import('../read/whole-catalog.js');
  const open = () => openPinnedSnapshot(context, registry, pin);
  const first = await open();
  const trustedBy = requireTrust(context.io, catalog, withKey(grants, first.state.key), {
    bytes: first.digest,
  });
  let opened: ReturnType<typeof open> | undefined = Promise.resolve(first);
  const reader = await WholeCatalog.open(url, async () => {
    const again = opened ?? open();
    opened = undefined;
    return again;
  });
  return { reader, trustedBy, warnings: first.warnings };
}

async function openSparse(
  context: OpenContext,
  catalog: NamedCatalog,
  registry: RegistryCatalog,
  grant: TrustGrant,
): Promise<OpenedCatalog> {
  const { SparseCatalog } = await import('../read/sparse-catalog.js');
  const reader = new SparseCatalog(registry, context.fetcher, async () => {
    const { openRemote } = await import('./open-remote.js');
    return (await openRemote(context, catalog, [grant], false)).reader;
  });
  return { reader, trustedBy: grant.by, warnings: [] };
}

/** Refuses a catalog of a registry without reading all of it: the registry says its digest. Throws `untrusted`. */
async function refuseRegistry(
  { io, fetcher }: OpenContext,
  catalog: NamedCatalog,
  { url, name }: RegistryCatalog,
): Promise<void> {
  const { fillPath } = await import('@krmhub/api/paths');
  const address = { type: 'http' as const, url: url + fillPath('catalog', { name }) };
  let digest: Digest | undefined;
  try {
    const { bytes } = await fetcher.fetchBytes({ address, maxBytes: MAX_DETAIL_BYTES });
    const { newest } = JSON.parse(new TextDecoder().decode(bytes)) as { newest?: { digest?: unknown } };
    if (typeof newest?.digest === 'string' && isDigest(newest.digest)) digest = newest.digest;
  } catch {
    // Another server: the whole catalog is read for its digest.
    return;
  }
  if (digest !== undefined) requireTrust(io, catalog, [], { bytes: digest });
}

/** Of the description of a catalog, with its recipe. */
const MAX_DETAIL_BYTES = 1_048_576;
