import type { CatalogKind, Digest, Profile, ProfileReport, Snapshot, SnapshotReport } from '@krmhub/schema';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import type { ShapeOf } from './answer-shape.js';
import * as shapes from './answer-shapes.js';
import type { FunctionAnswer, ReleaseAnswer } from './answers.js';
import type { CatalogRequest, Document, PublishRequest, SearchRequest } from './client-requests.js';
import type {
  ApplyResult,
  BundleList,
  CatalogDetail,
  CatalogList,
  CreatedToken,
  CreateTokenRequest,
  EventPage,
  PolicyResult,
  PolicySet,
  PublishResult,
  RegistryKeyList,
  RevocationPage,
  SearchResult,
  SnapshotList,
  Source,
  SourceList,
  TakedownResult,
  Token,
  TokenList,
} from './model.js';
import { fillPath } from './paths.js';
import { type Answer, Transport, type TransportOptions } from './transport.js';

export type { FunctionAnswer, ReleaseAnswer, ServedAnswer } from './answers.js';
export type * from './client-requests.js';
export { ForeignAnswer, parseRegistryUrl, RegistryError } from './transport.js';
export type RegistryClientOptions = TransportOptions;

const CATALOG_BYTES = DOCUMENT_LIMITS.maxCatalogBytes;
/** A registry's own signatures have some 2,000. */
const BUNDLE_BYTES = 1_048_576;

/**
 * A krmhub registry over HTTP. Every method rejects with a KrmhubError: a RegistryError with the registry's own
 * code, hint and diagnostics where it answered, `unreachable` where nothing did or something else than a registry.
 */
export class RegistryClient {
  readonly #transport: Transport;

  constructor(options: RegistryClientOptions) {
    this.#transport = new Transport(options);
  }

  /** The registry's URL without a slash at its end. */
  get url(): string {
    return this.#transport.url;
  }

  search(request: SearchRequest): Promise<SearchResult> {
    return this.#json(fillPath('functions', {}), shapes.SEARCH_RESULT, { query: { ...request } });
  }

  function(group: string, kind: string): Promise<FunctionAnswer> {
    return this.#json(fillPath('function', { group, kind }), shapes.FUNCTION);
  }

  release(group: string, kind: string, release: string): Promise<ReleaseAnswer> {
    return this.#json(fillPath('release', { group, kind, release }), shapes.RELEASE);
  }

  definition(group: string, kind: string, release: string): Promise<Document> {
    return this.#document(
      fillPath('definition', { group, kind, release }),
      DOCUMENT_LIMITS.maxDefinitionBytes,
    );
  }

  readme(group: string, kind: string, release: string): Promise<Document> {
    return this.#document(fillPath('readme', { group, kind, release }), DOCUMENT_LIMITS.maxDefinitionBytes);
  }

  publish(request: PublishRequest): Promise<PublishResult> {
    const { group, kind, release, definition, mediaType, readme, bundles = [] } = request;
    const flag = (value: boolean | undefined) => (value === true ? true : undefined);
    const query = {
      dryRun: flag(request.dryRun),
      allowBreaking: flag(request.allowBreaking),
      wait: flag(request.wait),
    };
    const path = fillPath('release', { group, kind, release });
    if (readme === undefined && bundles.length === 0) {
      return this.#json(path, shapes.PUBLISH_RESULT, {
        method: 'PUT',
        query,
        body: definition,
        contentType: mediaType,
      });
    }
    const body = new FormData();
    body.append('definition', new Blob([new Uint8Array(definition)], { type: mediaType }), 'definition');
    if (readme !== undefined) {
      body.append('readme', new Blob([new Uint8Array(readme)], { type: 'text/markdown' }), 'README.md');
    }
    for (const bundle of bundles) {
      body.append('bundle', new Blob([new Uint8Array(bundle)], { type: 'application/json' }), 'bundle.json');
    }
    return this.#json(path, shapes.PUBLISH_RESULT, { method: 'PUT', query, body });
  }

  /** Signatures and attestations of a release, and whom the registry trusts it for. */
  bundles(group: string, kind: string, release: string): Promise<BundleList> {
    return this.#json(fillPath('bundles', { group, kind, release }), shapes.BUNDLE_LIST);
  }

  /** The exact bytes of a bundle. */
  bundle(group: string, kind: string, release: string, digest: string): Promise<Document> {
    return this.#document(
      fillPath('bundle', { group, kind, release, digest }),
      DOCUMENT_LIMITS.maxSourceBytes,
    );
  }

  /** Adds a bundle to a release that stands. */
  attach(group: string, kind: string, release: string, bundle: Uint8Array): Promise<BundleList> {
    return this.#json(fillPath('bundles', { group, kind, release }), shapes.BUNDLE_LIST, {
      method: 'POST',
      body: bundle,
      contentType: 'application/json',
    });
  }

  policies(): Promise<PolicySet> {
    return this.#json(fillPath('policies', {}), shapes.POLICY_SET);
  }

  /** Replaces all signing policies; `dryRun` tells what would change, `remove` lets some go. */
  applyPolicies(
    text: Uint8Array,
    options: { dryRun?: boolean | undefined; remove?: boolean | undefined } = {},
  ): Promise<PolicyResult> {
    const flag = (value: boolean | undefined) => (value === true ? true : undefined);
    return this.#transport.json<PolicyResult>(fillPath('policies', {}), shapes.POLICY_RESULT, {
      method: 'PUT',
      query: { dryRun: flag(options.dryRun), remove: flag(options.remove) },
      body: text,
      contentType: 'application/yaml',
    });
  }

  yank(group: string, kind: string, release: string, reason: string): Promise<ReleaseAnswer> {
    return this.#post(fillPath('yank', { group, kind, release }), shapes.RELEASE, { reason });
  }

  unyank(group: string, kind: string, release: string, reason?: string): Promise<ReleaseAnswer> {
    const path = fillPath('unyank', { group, kind, release });
    return reason === undefined
      ? this.#json(path, shapes.RELEASE, { method: 'POST' })
      : this.#post(path, shapes.RELEASE, { reason });
  }

  deprecate(group: string, kind: string, release: string, reason: string): Promise<ReleaseAnswer> {
    return this.#post(fillPath('deprecate', { group, kind, release }), shapes.RELEASE, { reason });
  }

  /** Takes a release down; `dryRun` tells what would go. */
  takedown(
    group: string,
    kind: string,
    release: string,
    reason: string,
    { dryRun }: { dryRun?: boolean | undefined } = {},
  ): Promise<TakedownResult> {
    return this.#transport.json<TakedownResult>(
      fillPath('takedown', { group, kind, release }),
      shapes.TAKEDOWN_RESULT,
      {
        method: 'POST',
        query: { dryRun: dryRun === true ? true : undefined },
        body: JSON.stringify({ reason }),
        contentType: 'application/json',
      },
    );
  }

  /** Yanks, unyanks, takedowns and withdrawn snapshots after a sequence, oldest first. */
  revocations(after: number, limit?: number): Promise<RevocationPage> {
    return this.#json(fillPath('revocations', {}), shapes.REVOCATION_PAGE, { query: { after, limit } });
  }

  /** Events after a sequence, oldest first. */
  events(after: number, limit?: number): Promise<EventPage> {
    return this.#json(fillPath('events', {}), shapes.EVENT_PAGE, { query: { after, limit } });
  }

  catalogs(): Promise<CatalogList> {
    return this.#json(fillPath('catalogs', {}), shapes.CATALOG_LIST);
  }

  catalog(name: string): Promise<CatalogDetail> {
    return this.#json(fillPath('catalog', { name }), shapes.CATALOG);
  }

  /** Applies a recipe's exact bytes. */
  applyCatalog(name: string, recipe: Uint8Array): Promise<ApplyResult> {
    return this.#json(fillPath('catalog', { name }), shapes.APPLY_RESULT, {
      method: 'PUT',
      body: recipe,
      contentType: 'application/yaml',
    });
  }

  /** Cuts a catalog, and answers when that is done. */
  cutCatalog(name: string): Promise<CatalogDetail> {
    return this.#json(fillPath('cut', { name }), shapes.CATALOG, { method: 'POST' });
  }

  /** Catalogs elsewhere that recipes take from: of one catalog, or of all. */
  sources(catalog?: string): Promise<SourceList> {
    return this.#json(fillPath('sources', {}), shapes.SOURCE_LIST, { query: { catalog } });
  }

  /** Has a source asked now and its catalog cut, and gives what was found, whether or not that succeeded. */
  refreshSource(name: string, source: string): Promise<Source> {
    return this.#json(fillPath('refreshSource', { name, source }), shapes.SOURCE, { method: 'POST' });
  }

  /** The exact bytes of the last good copy of a source. */
  sourceCopy(name: string, source: string): Promise<Document> {
    return this.#document(fillPath('sourceCopy', { name, source }), CATALOG_BYTES);
  }

  /** What the newest state of a catalog leaves out, its sources as they are now; serial 0 where it was never cut. */
  catalogReport(name: string): Promise<SnapshotReport> {
    return this.#json(fillPath('catalogReport', { name }), shapes.SNAPSHOT_REPORT);
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

  /** One entry of a catalog, as a catalog of its own. */
  catalogEntry(name: string, group: string, kind: string): Promise<Document> {
    return this.#document(fillPath('catalogEntry', { name, group, kind }), DOCUMENT_LIMITS.maxSourceBytes);
  }

  /** Newest first. */
  snapshots(name: string, limit?: number): Promise<SnapshotList> {
    return this.#json(fillPath('snapshots', { name }), shapes.SNAPSHOT_LIST, { query: { limit } });
  }

  snapshot(name: string, snapshot: string): Promise<Snapshot> {
    return this.#json(fillPath('snapshotJson', { name, snapshot }), shapes.SNAPSHOT);
  }

  /** The exact bytes of snapshot.json, which a signature covers. */
  snapshotDocument(name: string, snapshot: string): Promise<Document> {
    return this.#document(fillPath('snapshotJson', { name, snapshot }), CATALOG_BYTES);
  }

  /** The registry's signature of a snapshot, or of the newest. */
  snapshotBundle(name: string, snapshot?: string): Promise<Document> {
    const path =
      snapshot === undefined
        ? fillPath('catalogBundle', { name })
        : fillPath('snapshotBundle', { name, snapshot });
    return this.#document(path, BUNDLE_BYTES);
  }

  /** The registry's public keys, newest first. */
  registryKeys(): Promise<RegistryKeyList> {
    return this.#json(fillPath('registryKeys', {}), shapes.REGISTRY_KEY_LIST);
  }

  snapshotReport(name: string, snapshot: string): Promise<SnapshotReport> {
    return this.#json(fillPath('snapshotReport', { name, snapshot }), shapes.SNAPSHOT_REPORT);
  }

  /** What a profile of a snapshot does not say. */
  profileReport(name: string, snapshot: string, profile: Profile): Promise<ProfileReport> {
    return this.#transport.json<ProfileReport>(
      fillPath('snapshotProfile', { name, snapshot, profile }),
      shapes.PROFILE_REPORT,
    );
  }

  /** The JSON Schema of a functionConfig, for editors. */
  functionConfigSchema(group: string, version: string, kind: string): Promise<Record<string, unknown>> {
    return this.#json(fillPath('functionConfigSchema', { group, version, kind }), 'object');
  }

  functionConfigSchemaUrl(group: string, version: string, kind: string): string {
    return this.url + fillPath('functionConfigSchema', { group, version, kind });
  }

  /** The token that is sent, as the registry knows it. */
  whoami(): Promise<Token> {
    return this.#json(fillPath('whoami', {}), shapes.TOKEN);
  }

  tokens(): Promise<TokenList> {
    return this.#json(fillPath('tokens', {}), shapes.TOKEN_LIST);
  }

  createToken(request: CreateTokenRequest): Promise<CreatedToken> {
    return this.#post(fillPath('tokens', {}), shapes.CREATED_TOKEN, request);
  }

  revokeToken(id: string): Promise<Token> {
    return this.#json(fillPath('token', { id }), shapes.TOKEN, { method: 'DELETE' });
  }

  /** Revokes a token that leaked; what comes of it is the same for one that the registry does not know. */
  async reportLeak(token: string): Promise<void> {
    await this.#transport.send(fillPath('reportLeak', {}), {
      method: 'POST',
      body: JSON.stringify({ token }),
      contentType: 'application/json',
      accept: 'application/json',
      maxBytes: 0,
    });
  }

  openapi(): Promise<Record<string, unknown>> {
    return this.#json(fillPath('openapi', {}), 'object');
  }

  /** Whether the process answers at all. */
  async health(): Promise<void> {
    await this.#text(fillPath('healthz', {}));
  }

  /** Whether the registry can do its work. */
  async ready(): Promise<void> {
    await this.#text(fillPath('readyz', {}));
  }

  /** Prometheus text format. */
  metrics(): Promise<string> {
    return this.#text(fillPath('metrics', {}));
  }

  #json<T>(path: string, shape: ShapeOf<T>, call?: Parameters<Transport['json']>[2]): Promise<T> {
    return this.#transport.json<T>(path, shape, call);
  }

  #post<T>(path: string, shape: ShapeOf<T>, body: object): Promise<T> {
    return this.#transport.json<T>(path, shape, {
      method: 'POST',
      body: JSON.stringify(body),
      contentType: 'application/json',
    });
  }

  async #text(path: string): Promise<string> {
    const answer = await this.#transport.send(path, {
      accept: 'text/plain, application/json, */*;q=0.5',
      maxBytes: CATALOG_BYTES,
    });
    return new TextDecoder().decode(answer.bytes);
  }

  async #document(
    path: string,
    maxBytes: number,
    query: { kind?: CatalogKind | undefined; profile?: Profile | undefined } = {},
  ): Promise<Document> {
    const answer = await this.#transport.send(path, { accept: '*/*', maxBytes, query });
    const digest = etagDigest(answer);
    return {
      bytes: answer.bytes,
      mediaType: answer.headers['content-type'] ?? 'application/octet-stream',
      ...(digest === undefined ? {} : { digest }),
    };
  }
}

/** The digest in an ETag, without the suffix that a coded answer has (RFC 9110, "ETag"). */
function etagDigest(answer: Answer): Digest | undefined {
  const match = /^(?:W\/)?"sha256:([a-f0-9]{64})(?:-[a-z]+)?"$/.exec(answer.headers.etag ?? '');
  return match === null ? undefined : `sha256:${match[1]}`;
}
