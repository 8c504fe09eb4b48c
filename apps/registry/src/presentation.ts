import type * as api from '@krmhub/api/model';
import type {
  CatalogRecord,
  Event,
  ReleaseRecord,
  ReleaseSummary,
  SearchDocument,
  SnapshotRecord,
  TokenRecord,
} from '@krmhub/catalog';

/** Records as the HTTP API shows them. */

export function releaseSummary(release: ReleaseSummary): api.ReleaseSummary {
  const { yanked, deprecated } = release;
  return {
    release: release.release,
    digest: release.digest,
    size: release.size,
    versions: release.versions,
    publishedAt: release.publishedAt,
    publishedBy: release.publishedBy,
    ...(yanked === undefined ? {} : { yanked }),
    ...(deprecated === undefined ? {} : { deprecated }),
  };
}

export function releaseDetail(release: ReleaseRecord): api.Release {
  return {
    ...releaseSummary(release),
    group: release.group,
    kind: release.kind,
    definition: { ...release.definition },
    readme: release.readme !== undefined,
  };
}

export function searchItem(document: SearchDocument): api.SearchItem {
  const { licenses, runtimes, ...rest } = document;
  return {
    ...rest,
    runtimes: runtimes as api.SearchItem['runtimes'],
    license: licenses.join(', '),
    signedBy: [],
  };
}

export function event(record: Event): api.Event {
  return record;
}

export function snapshotSummary({
  serial,
  digests,
  functions,
  createdAt,
  withdrawn,
}: SnapshotRecord): api.SnapshotSummary {
  return {
    serial,
    digest: digests['catalog.yaml'],
    functions,
    createdAt,
    ...(withdrawn === undefined ? {} : { withdrawn }),
  };
}

export function catalogDetail({
  name,
  recipe,
  appliedAt,
  appliedBy,
  newest,
}: CatalogRecord): api.CatalogDetail {
  return {
    name,
    recipe,
    appliedAt,
    appliedBy,
    ...(newest === undefined ? {} : { newest: snapshotSummary(newest) }),
  };
}

export function tokenDetail({
  id,
  name,
  scopes,
  groups,
  repositories,
  createdAt,
  createdBy,
  ...times
}: TokenRecord): api.Token {
  const { expiresAt, lastUsedAt, revokedAt, revokedReason } = times;
  return {
    id,
    name,
    scopes: scopes as api.TokenScope[],
    groups,
    repositories,
    createdAt,
    createdBy,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(lastUsedAt === undefined ? {} : { lastUsedAt }),
    ...(revokedAt === undefined ? {} : { revokedAt }),
    ...(revokedReason === undefined ? {} : { revokedReason }),
  };
}
