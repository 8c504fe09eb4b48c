import { fillPath } from '@krmhub/api/paths';
import type { CatalogReader, SnapshotRecord } from '@krmhub/catalog';
import type { Digest, Profile } from '@krmhub/schema';
import { catalogHeader } from '../catalogs/catalog-header.js';
import type { ProfileDocuments } from '../catalogs/profiles/profile-documents.js';
import { snapshotCheck } from '../catalogs/serve/find-snapshot.js';
import { ENTRY_PROFILE } from '../catalogs/serve/snapshot-documents.js';
import { bytesResponse, CACHE_REVALIDATE } from '../http/bytes-response.js';
import type { RegistryContext } from '../http/context.js';
import type { PublicAddress } from '../http/public-address.js';
import { publicAddress } from '../http/public-address.js';
import type { DerivedDocuments } from '../workers/derive/derived-documents.js';

export interface ProfileDeps {
  store: CatalogReader;
  profileDocuments: ProfileDocuments;
  derived: DerivedDocuments;
  config: PublicAddress;
}

export interface ProfileResponses {
  respond(c: RegistryContext, snapshot: SnapshotRecord, profile: Profile): Promise<Response>;
  /** Responds with one entry as a separate document. */
  respondWithEntry(
    c: RegistryContext,
    snapshot: SnapshotRecord,
    profile: Profile,
    entries: readonly Digest[],
  ): Promise<Response>;
  report(c: RegistryContext, snapshot: SnapshotRecord, profile: Profile): Promise<Response>;
}

/**
 * Responds with snapshots in the dialects of other tools. Another version of the registry may render a snapshot
 * differently, so caches must revalidate.
 */
export function profileResponses({
  store,
  profileDocuments: profiles,
  derived,
  config,
}: ProfileDeps): ProfileResponses {
  const links = ({ catalog, serial }: SnapshotRecord, profile: Profile): string => {
    const row = { name: catalog, snapshot: String(serial) };
    const own = publicAddress(config, fillPath('snapshotCatalogYaml', row));
    const history = publicAddress(config, fillPath('snapshots', row));
    const report = publicAddress(config, fillPath('snapshotProfile', { ...row, profile }));
    return `<${own}?profile=${profile}>; rel="memento", <${history}>; rel="version-history", <${report}>; rel="describedby"`;
  };
  return {
    async respond(c, snapshot, profile) {
      const rendition = await profiles.get(snapshot, profile);
      return bytesResponse(c, {
        digest: rendition.digest,
        mediaType: 'application/yaml',
        cacheControl: CACHE_REVALIDATE,
        headers: { Link: links(snapshot, profile) },
        coded: true,
        find: (coding) => profiles.find(snapshot, rendition, 'digest', coding),
        isReadable: snapshotCheck(store, snapshot),
      });
    },
    async respondWithEntry(c, snapshot, profile, entries) {
      const input = { header: catalogHeader(snapshot), profile, entries };
      return derived.respond(c, ENTRY_PROFILE, input, {
        mediaType: 'application/yaml',
        cacheControl: CACHE_REVALIDATE,
        headers: { Link: links(snapshot, profile) },
      });
    },
    async report(c, snapshot, profile) {
      const rendition = await profiles.get(snapshot, profile);
      return bytesResponse(c, {
        digest: rendition.report,
        mediaType: 'application/json',
        cacheControl: CACHE_REVALIDATE,
        coded: true,
        find: (coding) => profiles.find(snapshot, rendition, 'report', coding),
        isReadable: snapshotCheck(store, snapshot),
      });
    },
  };
}
