import type { SourceAddress } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { SourceFailure } from '@krmhub/sources/failure';
import { type RemoteDocument, recordName } from '../../cache/fetch-document.js';
import { RESOLVE_LIMITS } from '../../limits.js';
import type { NamedCatalog } from '../../references/parse-catalog.js';
import { requireTrust, type TrustGrant, withKey } from '../../trust/catalog-trust.js';
import type { PinnedSnapshot } from '../../trust/require-snapshot.js';
import { IndexedDocument, type WholeDocument } from '../read/indexed-document.js';
import { WholeCatalog } from '../read/whole-catalog.js';
import type { OpenContext, OpenedCatalog } from './open-context.js';
import { signedState } from './signed-state.js';

interface Fetched {
  address: SourceAddress;
  document: RemoteDocument;
  signed: PinnedSnapshot | undefined;
}

/** Fetches a whole catalog over HTTP, git or OCI, and opens it. Throws `untrusted`, and SourceFailures. */
export async function openRemote(
  context: OpenContext,
  catalog: NamedCatalog,
  grants: readonly TrustGrant[],
  hasPins: boolean,
): Promise<OpenedCatalog> {
  const { io } = context;
  const fetchTrusted = async () => {
    const fetched = await fetchCatalog(context, catalog, hasPins);
    const { digest, manifest } = fetched.document;
    const trustedBy = requireTrust(io, catalog, withKey(grants, fetched.signed?.key), {
      bytes: digest,
      ...defined({ manifest }),
    });
    return { ...fetched, trustedBy };
  };
  const first = await fetchTrusted();
  let known: Fetched | undefined = first;
  const reader = await WholeCatalog.open(catalog.reference.text, async () => {
    if (known === undefined) {
      const { digest, store } = first.document;
      await store.cache.remove(store.cache.indexPath(digest));
      await store.cache.remove(store.cache.blobPath(digest));
    }
    const { address, document, signed } = known ?? (await fetchTrusted());
    known = undefined;
    return {
      document: await IndexedDocument.open(wholeDocument(context, address, document), document.store),
      state: signedState(document.digest, signed),
      store: document.store,
    };
  });
  return { reader, trustedBy: first.trustedBy, warnings: transportWarnings(first.address, first.signed) };
}

function wholeDocument(
  { fetcher }: OpenContext,
  address: SourceAddress,
  document: RemoteDocument,
): WholeDocument {
  const { digest, bytes, store } = document;
  const { cache } = store;
  return {
    digest,
    name: recordName(address),
    file: cache.blobPath(digest),
    async read() {
      const known = bytes ?? (await cache.readBlob(digest, RESOLVE_LIMITS.maxCatalogBytes));
      if (known !== undefined) return known;
      const again = await fetcher.fetchBytes({ address, maxBytes: RESOLVE_LIMITS.maxCatalogBytes });
      if (again.digest === digest) return again.bytes;
      throw new KrmhubError('unavailable', `${recordName(address)} changed while it was read`, {
        hint: 'Run the command again to read the new version.',
      });
    },
  };
}

/** The address of a registry's catalog may be written without its file; on another server it may be the file itself. */
async function fetchCatalog(context: OpenContext, catalog: NamedCatalog, hasPins: boolean): Promise<Fetched> {
  const { address, registry } = catalog;
  if (registry === undefined || address.type !== 'http')
    return fetchVerified(context, catalog, address, hasPins);
  const { url, name, snapshot, file } = registry;
  const at = snapshot === undefined ? '' : `/snapshots/${snapshot}`;
  const document = `${url}/catalogs/${name}${at}/${file}`;
  try {
    return await fetchVerified(context, catalog, { type: 'http', url: document }, hasPins);
  } catch (error) {
    const isMissing =
      error instanceof SourceFailure && error.problem === 'not-found' && error.responseCode === undefined;
    if (!isMissing || document === address.url) throw error;
    return fetchVerified(context, catalog, address, hasPins);
  }
}

async function fetchVerified(
  { io, fetcher }: OpenContext,
  { reference }: NamedCatalog,
  address: SourceAddress,
  hasPins: boolean,
): Promise<Fetched> {
  const { findSourcePin, verifyPinnedSource } = hasPins
    ? await import('../../trust/pinned-source.js')
    : { findSourcePin: undefined, verifyPinnedSource: undefined };
  const pin = await findSourcePin?.(io, reference.text, address);
  const maxBytes = RESOLVE_LIMITS.maxCatalogBytes;
  const fetch = () => fetcher.fetch({ address, maxBytes, bundles: pin !== undefined });
  const document = await fetch();
  if (pin === undefined || verifyPinnedSource === undefined) return { address, document, signed: undefined };
  const { acceptQuietly } = await import('../../trust/require-snapshot.js');
  const verify = async (one: RemoteDocument): Promise<Fetched> => ({
    address,
    document: one,
    signed: await verifyPinnedSource(io, pin, one, acceptQuietly),
  });
  try {
    return await verify(document);
  } catch (error) {
    // The server may have published another snapshot between the catalog and its signature.
    if (address.type !== 'http' || !(error instanceof KrmhubError) || error.code !== 'untrusted') throw error;
    return verify(await fetch());
  }
}

function transportWarnings(address: SourceAddress, signed: PinnedSnapshot | undefined): string[] {
  const url = address.type === 'http' ? address.url : address.type === 'git' ? address.repository : '';
  const isPlain = /^http:\/\/(?!(?:localhost|127(?:\.\d+){3}|\[::1\])(?:[:/]|$))/i.test(url);
  return isPlain && signed === undefined
    ? [`${url} is read over http, so an attacker on the network can change it`]
    : [];
}
