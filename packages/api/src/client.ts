import type { CatalogKind, Digest, Profile, ProfileReport, Snapshot, SnapshotReport } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { mapFacets } from '@krmhub/schema/facets';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { AccessClient, flag } from './access-client.js';
import {
  asJson,
  type CatalogRequest,
  type Document,
  LIST,
  type PublishRequest,
  publishForm,
  type SearchRequest,
} from './client-requests.js';
import { etagDigest } from './etag-digest.js';
import type {
  ApplyResult,
  BundleList,
  CatalogDetail,
  CatalogList,
  CatalogReleases,
  CatalogReleasesRequest,
  CatalogTombstone,
  DeprecateRequest,
  EventPage,
  FunctionDetail,
  PublishResult,
  RegistryKeyList,
  Release,
  RestoreResult,
  RevocationPage,
  SearchResult,
  SnapshotList,
  Source,
  SourceList,
  TakedownRequest,
  TakedownResult,
} from './model.js';
import { fillPath } from './paths.js';
import type { TransportOptions } from './transport.js';

export type * from './client-requests.js';
export { parsePlainUrl, parseRegistryUrl } from './registry-url.js';
export { RegistryError, UnexpectedResponse } from './transport.js';
export type RegistryClientOptions = TransportOptions;

const CATALOG_BYTES = DOCUMENT_LIMITS.maxCatalogBytes;
/** The signatures of a registry have about 2,000 bytes. */
const BUNDLE_BYTES = 1_048_576;

/**
 * A client for the HTTP API of a krmhub registry. Methods reject with a RegistryError for an error response, and with
 * a KrmhubError of the code `unreachable` if there is no response or it does not come from a krmhub registry.
 */
export class RegistryClient extends AccessClient {
  async search(request: SearchRequest): Promise<SearchResult> {
    const path = fillPath('functions', {});
    const found = await this.json('search', path, { query: { ...request }, ...LIST });
    return { ...found, facets: { ...mapFacets(() => []), ...found.facets } };
  }

  function(group: string, kind: string): Promise<FunctionDetail> {
    return this.json('function', fillPath('function', { group, kind }), LIST);
  }

  release(group: string, kind: string, release: string): Promise<Release> {
    return this.json('release', fillPath('release', { group, kind, release }));
  }

  definition(group: string, kind: string, release: string): Promise<Document> {
    const path = fillPath('definition', { group, kind, release });
    return this.#document(path, DOCUMENT_LIMITS.maxDefinitionBytes);
  }

  readme(group: string, kind: string, release: string): Promise<Document> {
    return this.#document(fillPath('readme', { group, kind, release }), DOCUMENT_LIMITS.maxDefinitionBytes);
  }

  publish(request: PublishRequest): Promise<PublishResult> {
    const { group, kind, release, definition, mediaType, readme, notes, bundles = [] } = request;
    const query = {
      dryRun: flag(request.dryRun),
      allowBreaking: flag(request.allowBreaking),
      wait: flag(request.wait),
    };
    const path = fillPath('release', { group, kind, release });
    const isPlain = readme === undefined && notes === undefined && bundles.length === 0;
    const body = isPlain ? { body: definition, contentType: mediaType } : { body: publishForm(request) };
    return this.json('publish', path, { method: 'PUT', query, ...body });
  }

  /** Signatures and attestations of a release, with the verdict of the registry. */
  bundles(group: string, kind: string, release: string): Promise<BundleList> {
    return this.json('bundles', fillPath('bundles', { group, kind, release }));
  }

  /** The exact bytes of a bundle. */
  bundle(group: string, kind: string, release: string, digest: string): Promise<Document> {
    const path = fillPath('bundle', { group, kind, release, digest });
    return this.#document(path, DOCUMENT_LIMITS.maxSourceBytes);
  }

  /** Adds a bundle to a published release. */
  attach(group: string, kind: string, release: string, bundle: Uint8Array): Promise<BundleList> {
    return this.json('attach', fillPath('bundles', { group, kind, release }), {
      method: 'POST',
      body: bundle,
      contentType: 'application/json',
    });
  }

  yank(group: string, kind: string, release: string, reason: string): Promise<Release> {
    return this.post('yank', fillPath('yank', { group, kind, release }), { reason });
  }

  unyank(group: string, kind: string, release: string, reason?: string): Promise<Release> {
    return this.#undo('unyank', fillPath('unyank', { group, kind, release }), reason);
  }

  /** Deprecates a release: `request` has a reason, a replacement, or both. */
  deprecate(group: string, kind: string, release: string, request: DeprecateRequest): Promise<Release> {
    return this.post('deprecate', fillPath('deprecate', { group, kind, release }), request);
  }

  undeprecate(group: string, kind: string, release: string, reason?: string): Promise<Release> {
    return this.#undo('undeprecate', fillPath('undeprecate', { group, kind, release }), reason);
  }

  /** Takes a release down, or changes what it refuses. `dryRun` only reports what would be deleted. */
  takedown(
    group: string,
    kind: string,
    release: string,
    request: TakedownRequest,
    { dryRun }: { dryRun?: boolean | undefined } = {},
  ): Promise<TakedownResult> {
    return this.json('takedown', fillPath('takedown', { group, kind, release }), {
      ...asJson(request),
      query: { dryRun: flag(dryRun) },
    });
  }

  /** Revocations after a sequence, oldest first. With digests, only takedowns that refuse one. */
  revocations(after: number, limit?: number, digest?: readonly Digest[]): Promise<RevocationPage> {
    return this.json('revocations', fillPath('revocations', {}), {
      query: { after, limit, digest },
      ...LIST,
    });
  }

  /** Events after a sequence, oldest first. */
  events(after: number, limit?: number): Promise<EventPage> {
    return this.json('events', fillPath('events', {}), { query: { after, limit }, ...LIST });
  }

  catalogs(): Promise<CatalogList> {
    return this.json('catalogs', fillPath('catalogs', {}), LIST);
  }

  catalog(name: string): Promise<CatalogDetail> {
    return this.json('catalog', fillPath('catalog', { name }));
  }

  /** Which snapshots of a catalog have which releases of these functions, at most 100. */
  catalogReleases(name: string, functions: CatalogReleasesRequest['functions']): Promise<CatalogReleases> {
    const path = fillPath('catalogReleases', { name });
    return this.json('catalogReleases', path, { ...asJson({ functions }), ...LIST });
  }

  /** Applies a recipe's exact bytes. */
  applyCatalog(name: string, recipe: Uint8Array): Promise<ApplyResult> {
    return this.json('applyCatalog', fillPath('catalog', { name }), {
      method: 'PUT',
      body: recipe,
      contentType: 'application/yaml',
    });
  }

  deleteCatalog(name: string, reason: string): Promise<CatalogTombstone> {
    return this.post('deleteCatalog', fillPath('deleteCatalog', { name }), { reason });
  }

  restoreCatalog(name: string): Promise<RestoreResult> {
    return this.json('restoreCatalog', fillPath('restoreCatalog', { name }), { method: 'POST' });
  }

  /** Builds a snapshot of a catalog and waits for it. */
  cutCatalog(name: string): Promise<CatalogDetail> {
    return this.json('cut', fillPath('cut', { name }), { method: 'POST' });
  }

  /** Upstream catalogs of one catalog, or of all. */
  sources(catalog?: string): Promise<SourceList> {
    return this.json('sources', fillPath('sources', {}), { query: { catalog }, ...LIST });
  }

  /** Syncs a source, builds its catalog and returns the state of the source, also if the sync failed. */
  refreshSource(name: string, source: string): Promise<Source> {
    return this.json('refreshSource', fillPath('refreshSource', { name, source }), { method: 'POST' });
  }

  /** The exact bytes of the last good copy of a source. */
  sourceCopy(name: string, source: string): Promise<Document> {
    return this.#document(fillPath('sourceCopy', { name, source }), CATALOG_BYTES);
  }

  /** What a catalog leaves out, with the current state of its sources. The serial is 0 before the first snapshot. */
  catalogReport(name: string): Promise<SnapshotReport> {
    return this.json('catalogReport', fillPath('catalogReport', { name }), LIST);
  }

  /** The exact bytes of a catalog. */
  catalogDocument(name: string, request: CatalogRequest = {}): Promise<Document> {
    const { snapshot, kind, format = 'yaml', profile } = request;
    const yaml = format === 'yaml';
    const path =
      snapshot === undefined
        ? fillPath(yaml ? 'catalogYaml' : 'catalogJson', { name })
        : fillPath(yaml ? 'snapshotCatalogYaml' : 'snapshotCatalogJson', { name, snapshot });
    return this.#document(path, CATALOG_BYTES, { kind, profile });
  }

  /** A catalog with only this entry. */
  catalogEntry(name: string, group: string, kind: string): Promise<Document> {
    return this.#document(fillPath('catalogEntry', { name, group, kind }), DOCUMENT_LIMITS.maxSourceBytes);
  }

  /** Newest first. */
  snapshots(name: string, query: { limit?: number; before?: number } = {}): Promise<SnapshotList> {
    return this.json('snapshots', fillPath('snapshots', { name }), { query });
  }

  snapshot(name: string, snapshot: string): Promise<Snapshot> {
    return this.json('snapshotJson', fillPath('snapshotJson', { name, snapshot }));
  }

  /** The exact bytes of snapshot.json, which are signed. */
  snapshotDocument(name: string, snapshot: string): Promise<Document> {
    return this.#document(fillPath('snapshotJson', { name, snapshot }), CATALOG_BYTES);
  }

  /** The registry's signature of a snapshot; by default of the newest. */
  snapshotBundle(name: string, snapshot?: string): Promise<Document> {
    const path =
      snapshot === undefined
        ? fillPath('catalogBundle', { name })
        : fillPath('snapshotBundle', { name, snapshot });
    return this.#document(path, BUNDLE_BYTES);
  }

  /** The registry's public keys, newest first. */
  registryKeys(): Promise<RegistryKeyList> {
    return this.json('registryKeys', fillPath('registryKeys', {}));
  }

  snapshotReport(name: string, snapshot: string): Promise<SnapshotReport> {
    return this.json('snapshotReport', fillPath('snapshotReport', { name, snapshot }));
  }

  /** The fields of a snapshot that a profile does not support. */
  profileReport(name: string, snapshot: string, profile: Profile): Promise<ProfileReport> {
    return this.json('snapshotProfile', fillPath('snapshotProfile', { name, snapshot, profile }));
  }

  /** The exact bytes of the report of a profile, which are signed. */
  profileReportDocument(name: string, snapshot: string, profile: Profile): Promise<Document> {
    return this.#document(fillPath('snapshotProfile', { name, snapshot, profile }), CATALOG_BYTES);
  }

  /** The JSON Schema of a functionConfig, for editors. */
  functionConfigSchema(group: string, version: string, kind: string): Promise<Record<string, unknown>> {
    return this.#object(fillPath('functionConfigSchema', { group, version, kind }));
  }

  functionConfigSchemaUrl(group: string, version: string, kind: string): string {
    return this.url + fillPath('functionConfigSchema', { group, version, kind });
  }

  openapi(): Promise<Record<string, unknown>> {
    return this.#object(fillPath('openapi', {}));
  }

  /** Resolves if the process is running. */
  async health(): Promise<void> {
    await this.#text(fillPath('healthz', {}));
  }

  /** Resolves if the registry is ready. */
  async ready(): Promise<void> {
    await this.#text(fillPath('readyz', {}));
  }

  /** Metrics in the Prometheus text format. */
  metrics(): Promise<string> {
    return this.#text(fillPath('metrics', {}));
  }

  #undo(route: 'unyank' | 'undeprecate', path: string, reason?: string): Promise<Release> {
    return reason === undefined
      ? this.json(route, path, { method: 'POST' })
      : this.post(route, path, { reason });
  }

  #object(path: string): Promise<Record<string, unknown>> {
    return this.transport.json<Record<string, unknown>>(path, { type: 'object' });
  }

  async #text(path: string): Promise<string> {
    const response = await this.transport.send(path, {
      accept: 'text/plain, application/json, */*;q=0.5',
      maxBytes: CATALOG_BYTES,
    });
    return new TextDecoder().decode(response.bytes);
  }

  async #document(
    path: string,
    maxBytes: number,
    query: { kind?: CatalogKind | undefined; profile?: Profile | undefined } = {},
  ): Promise<Document> {
    const response = await this.transport.send(path, { accept: '*/*', maxBytes, query });
    return {
      bytes: response.bytes,
      mediaType: response.headers['content-type'] ?? 'application/octet-stream',
      ...defined({ digest: etagDigest(response) }),
    };
  }
}
