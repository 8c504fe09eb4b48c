import { fillPath } from '@krmhub/api/paths';
import { defined } from '@krmhub/schema/defined';
import { type Digest, isDigest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { SourceFailure } from '@krmhub/sources/failure';
import type { EntryStore } from '../../cache/cache-writer.js';
import { RESOLVE_LIMITS } from '../../limits.js';
import type { RegistryCatalog } from '../../references/parse-catalog.js';
import type { SignedSnapshot } from '../../trust/judge-snapshot.js';
import type { CatalogPin } from '../../trust/pinned-catalogs.js';
import { acceptQuietly, requireSnapshot, untrustedCatalog } from '../../trust/require-snapshot.js';
import { IndexedDocument, type WholeDocument } from '../read/indexed-document.js';
import type { OpenCatalog } from '../read/whole-catalog.js';
import type { OpenContext } from './open-context.js';

const MAX_BUNDLE_BYTES = 1_048_576;

export interface PinnedCatalog extends OpenCatalog {
  /** Digest of the document that the reference names. */
  digest: Digest;
  /** Where its signature is cached, and so is the rest. */
  store: EntryStore;
  warnings: string[];
}

/**
 * Opens the snapshot of a catalog that a pinned key signed. An entry alone is not signed, so the whole catalog is read,
 * once for each snapshot; after that, only its signature. Throws `untrusted`.
 */
export async function openPinnedSnapshot(
  context: OpenContext,
  registry: RegistryCatalog,
  pin: CatalogPin,
): Promise<PinnedCatalog> {
  const { io, fetcher } = context;
  const { url: host, name, snapshot } = registry;
  const url = `${host}/catalogs/${name}`;
  const { bytes: bundle, store } = await fetchBundle(context, registry, url);
  const byDigest = snapshot !== undefined && isDigest(snapshot) ? snapshot : undefined;
  const expected = {
    url,
    registry: host,
    name: pin.name ?? name,
    ...defined({
      serial: snapshot === undefined || byDigest !== undefined ? undefined : Number(snapshot),
      // Nothing newer can be known without the network.
      anyAge: snapshot === undefined && !fetcher.isOffline ? undefined : true,
    }),
    offline: snapshot === undefined && fetcher.isOffline,
  };
  const signed = await requireSnapshot(io, pin, expected, [bundle], ({ digests }) =>
    byDigest === undefined || digests.get('catalog.yaml') === byDigest
      ? undefined
      : `signature of a snapshot with the digest ${digests.get('catalog.yaml')}, expected ${byDigest}`,
  );
  const open = async (file: 'catalog.yaml' | 'snapshot.json') =>
    IndexedDocument.open(signedDocument({ ...context, ...store }, registry, signed, file), store);
  const document = await open('catalog.yaml');
  const origins = await open('snapshot.json');
  await acceptQuietly(io, url, pin, signed);
  const { claim, digests, signer } = signed;
  const isExpired = fetcher.isOffline && Date.parse(claim.expires) <= io.now().getTime();
  return {
    document,
    snapshot: origins,
    state: {
      name,
      serial: claim.serial,
      digest: requireDigest(signed, 'catalog.yaml', url),
      key: signer.fingerprint,
    },
    digest: digests.get(registry.file) as Digest,
    store,
    warnings: isExpired
      ? [`the signature of ${url} expired at ${claim.expires}; with --offline, krmhub still accepts it`]
      : [],
  };
}

async function fetchBundle(
  { fetcher }: OpenContext,
  { url: host, name, snapshot }: RegistryCatalog,
  url: string,
): Promise<{ bytes: Uint8Array; store: EntryStore }> {
  const path =
    snapshot === undefined
      ? fillPath('catalogBundle', { name })
      : fillPath('snapshotBundle', { name, snapshot });
  try {
    const address = { type: 'http' as const, url: host + path };
    return await fetcher.fetchBytes({ address, maxBytes: MAX_BUNDLE_BYTES });
  } catch (error) {
    // An attacker can return 404, so a missing signature is a failed verification.
    if (!(error instanceof SourceFailure) || !['not-found', 'bad-answer'].includes(error.problem))
      throw error;
    throw untrustedCatalog(
      url,
      `it has no signature: ${error.message}`,
      'Ask the operator of the registry why the catalog is not signed.',
    );
  }
}

/** A document of the snapshot by its signed digest: nothing else can be read as it. */
function signedDocument(
  { cache, writer, fetcher }: OpenContext,
  { url: host, name }: RegistryCatalog,
  signed: SignedSnapshot,
  file: 'catalog.yaml' | 'snapshot.json',
): WholeDocument {
  const snapshot = String(signed.claim.serial);
  const digest = requireDigest(signed, file, `${host}/catalogs/${name}`);
  const path =
    file === 'catalog.yaml'
      ? fillPath('snapshotCatalogYaml', { name, snapshot })
      : fillPath('snapshotJson', { name, snapshot });
  return {
    digest,
    name: host + path,
    file: cache.blobPath(digest),
    async read() {
      const known = await cache.readBlob(digest, RESOLVE_LIMITS.maxCatalogBytes);
      if (known !== undefined) return known;
      const address = { type: 'http' as const, url: host + path };
      const fetched = await fetcher.fetchBytes({ address, maxBytes: RESOLVE_LIMITS.maxCatalogBytes });
      if (fetched.digest !== digest) {
        throw new KrmhubError(
          'untrusted',
          `${host + path} is not trusted: got ${fetched.digest}, expected the signed digest ${digest}`,
          {
            hint: 'Ask the operator of the registry: the registry or a proxy serves bytes that are not signed.',
          },
        );
      }
      await writer.write(async () => void (await cache.writeBlob(fetched.bytes)));
      return fetched.bytes;
    },
  };
}

function requireDigest({ digests }: SignedSnapshot, file: string, url: string): Digest {
  const digest = digests.get(file);
  if (digest !== undefined && isDigest(digest)) return digest;
  throw untrustedCatalog(url, `its signature does not cover ${file}`, 'Ask the operator of the registry.');
}
