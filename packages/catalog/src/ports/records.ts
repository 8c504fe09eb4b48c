import type {
  Digest,
  EntryVersion,
  FunctionDefinition,
  FunctionName,
  Refused,
  ReportedSource,
  Shadowed,
  Signer,
  SnapshotRendition,
  Takedown,
  TakenDownSigner,
} from '@krmhub/schema';

export type { Signer } from '@krmhub/schema';

/** Times are RFC 3339 in UTC with milliseconds. */
export type Time = string;

/** A valid signature of a release. Policies decide whether it is trusted. */
export interface ReleaseSignature {
  /** Digest of the bundle. */
  bundle: Digest;
  signer: Signer;
  /** When it was signed, where a log or an authority testifies that. */
  signedAt?: Time;
  /** When this registry, or the client, first saw it. */
  receivedAt: Time;
  /** It covers the manifest of the release, and so the README; absent if it covers only the definition. */
  isWhole?: boolean;
}

/** A signature or an attestation of a release, and what was found when it came. */
export interface ReleaseBundle {
  /** Digest of the bundle's bytes. */
  digest: Digest;
  /** Bytes. */
  size: number;
  /** Digest of the manifest that contains it, a referrer of the release's manifest. */
  manifest: string;
  /** Whether it is a signature of the release, or an attestation about it. */
  claim: 'signature' | 'attestation';
  /** Of the in-toto statement. */
  predicateType: string;
  /** Absent if the key was unknown when it was last verified, and could not be derived from the signature. */
  signer?: Signer;
  /** When it was signed, where a log or an authority testifies that. */
  signedAt?: Time;
  /** It covers the manifest of the release, and so the README; absent if it covers only the definition. */
  isWhole?: boolean;
  receivedAt: Time;
  receivedBy: string;
}

/** Who did something to a release, when, and why. */
export interface LifecycleRecord {
  at: Time;
  by: string;
  reason: string;
}

/** What is known of a release without reading its definition: all that selection and search filters need. */
export interface ReleaseSummary {
  /** Canonical SemVer name. */
  release: string;
  /** Digest of the definition's exact bytes. */
  digest: Digest;
  /** Bytes of the definition. */
  size: number;
  /** API versions of the functionConfig, most preferred first. */
  versions: string[];
  tags: string[];
  publisher: string;
  runtimes: string[];
  licenses: string[];
  publishedAt: Time;
  publishedBy: string;
  yanked?: LifecycleRecord;
  deprecated?: LifecycleRecord;
  /** In the order in which they came; absent for none. */
  bundles?: ReleaseBundle[];
  /** Digest of the README's exact bytes. */
  readme?: Digest;
}

export type DefinitionMediaType = 'application/yaml' | 'application/json';

export interface ReleaseRecord extends ReleaseSummary, FunctionName {
  mediaType: DefinitionMediaType;
  /** Normal form. */
  definition: FunctionDefinition;
}

/** A release without its definition, which can be large. */
export type ReleaseHead = Omit<ReleaseRecord, 'definition'>;

/** The blobs of a release. */
export type ReleaseFiles = Pick<ReleaseRecord, 'digest' | 'mediaType' | 'readme'>;

/** A function with all its releases, the newest first by precedence. */
export interface FunctionRecord extends FunctionName {
  /** Grows with every change; a change planned on another revision is refused. */
  revision: number;
  releases: ReleaseSummary[];
}

/** What search finds a function by, and shows of it. */
export interface SearchDocument extends FunctionName {
  description: string;
  publisher: string;
  /** The newest release that is not yanked; the newest of all where every one is. */
  release: string;
  versions: string[];
  tags: string[];
  runtimes: string[];
  licenses: string[];
  /** Every release is yanked. */
  yanked: boolean;
  /** The release above is deprecated. */
  deprecated: boolean;
  /** Of the release above, those that hold. */
  signatures: ReleaseSignature[];
}

/** Where a function comes from that is not of this registry: a catalog's source that is an upstream catalog. */
export interface UpstreamOrigin {
  catalog: string;
  /** Name of the source in the recipe of the catalog. */
  source: string;
}

/** What search shows of a function: one of this registry, or one that only upstream catalogs have. */
export interface SearchResult extends Omit<SearchDocument, 'release'> {
  /** Absent where this registry has no release of it, so that no one here knows which one it is. */
  release?: string;
  /** Of the release above. */
  publishedAt?: Time;
  /** By catalog, `default` last; absent for a function of this registry. */
  from?: UpstreamOrigin[];
}

/** What a catalog's newest snapshot has of a function that it takes, at least in part, from an upstream catalog. */
export interface ServedEntry extends FunctionName {
  catalog: string;
  serial: number;
  /** Digest of the entry as it is served, in normal form; `SnapshotStore.entries` has it. */
  entry: Digest;
  versions: EntryVersion[];
}

export type EventType =
  | 'release.published'
  | 'release.yanked'
  | 'release.unyanked'
  | 'release.deprecated'
  | 'release.attested'
  | 'release.taken-down'
  | 'catalog.applied'
  | 'catalog.cut'
  | 'catalog.withdrawn'
  | 'policy.applied'
  | 'source.changed'
  | 'source.failing'
  | 'source.recovered'
  | 'source.matured';

export interface NewEvent {
  type: EventType;
  at: Time;
  by: string;
  group?: string;
  kind?: string;
  release?: string;
  digest?: Digest;
  catalog?: string;
  /** Name of a source of the catalog's recipe. */
  source?: string;
  serial?: number;
  reason?: string;
}

export interface Event extends NewEvent {
  /** Counts all events of a registry from 1, without gaps that a reader could miss something in. */
  sequence: number;
  /** Who signed a release that was taken down; only in the revocation feed, from which tombstones can be restored. */
  signers?: TakenDownSigner[];
}

/** One planned change of one function, which a store commits in one transaction. */
export interface FunctionChange extends FunctionName {
  /** The revision on which it was planned; 0 for a function that does not exist yet. */
  expectedRevision: number;
  /** The revision of the signing policies by which it was judged, 0 for none; absent where it was not. */
  expectedPolicies?: number;
  /** A new release, or changed lifecycle and bundles of an existing one. */
  action: 'insert' | 'update';
  release: ReleaseRecord;
  search: SearchDocument;
  event: NewEvent;
}

/** A planned takedown, which a store commits in one transaction. */
export interface FunctionTakedown extends FunctionName {
  /** The revision on which it was planned; 0 for a function without releases. */
  expectedRevision: number;
  /** Every release of the function with these bytes. */
  takedowns: Takedown[];
  /** ID of the token that asked for it. */
  token?: string;
  /** What search finds the function by afterwards; absent where no release is left. */
  search?: SearchDocument;
}

/** What a takedown reaches. */
export interface TakedownResult {
  /** Sequence of its last event. */
  event: number;
  /** Snapshots with an entry that contained content of these releases. */
  withdrawn: { catalog: string; serial: number; digest: Digest }[];
  /** Bytes of definitions and READMEs, and the releases for which they stay all the same. */
  blobs: { digest: Digest; keptBy: (FunctionName & { release: string })[] }[];
  /** Repositories of artifacts that had copies, and lose the manifests that name them. */
  repositories: string[];
}

/** Which release serves each API version of a function in a catalog, and what else there was. */
export interface Selection extends FunctionName {
  /** In the order of preference; empty where the catalog does not hold the function. */
  versions: EntryVersion[];
  shadowed: Omit<Shadowed, 'group' | 'kind'>[];
  /** Absent for none. */
  refused?: Omit<Refused, 'group' | 'kind'>[];
  /** Yanked releases that would have been chosen. */
  yanked: { release: string; source: string }[];
}

/** An entry of `krmFunctions`, rendered. */
export interface RenderedEntry {
  /** Digest of `yaml`. */
  digest: Digest;
  /** A list item at the indentation of `spec.krmFunctions`, with its line end. */
  yaml: string;
  /** The same entry as one line of JSON, without a line end. */
  json: string;
}

/** How much of a catalog the rendered entry in a place is. */
export interface EntrySize extends FunctionName {
  /** Bytes of its `yaml`, as UTF-8. */
  yamlBytes: number;
  /** Bytes of its `json`, as UTF-8. */
  jsonBytes: number;
}

export interface CatalogRecord {
  name: string;
  /** The recipe's exact text. */
  recipe: string;
  appliedAt: Time;
  appliedBy: string;
  /** Every event up to this sequence is taken into the newest snapshot. */
  throughEvent: number;
  /** By which minimum ages are judged: it goes on when an entry comes of age, so that time is an event like others. */
  clock: Time;
  newest?: SnapshotRecord;
}

export interface SnapshotRecord {
  catalog: string;
  serial: number;
  previous: Digest | null;
  /** Labels of the catalog as they were in the recipe: with them the bytes can be made again. */
  labels?: Record<string, string>;
  digests: Record<SnapshotRendition, Digest>;
  /** Number of functions. */
  functions: number;
  createdAt: Time;
  /** Sources that are upstream catalogs, as they were; absent for none. */
  sources?: ReportedSource[];
  /** The takedown for which its bytes are gone; names and digests stay. */
  withdrawn?: Takedown;
}

/** A function's place in a catalog, from one serial until another. */
export interface CatalogEntryRow extends Selection {
  /** Digest of the rendered entry; absent where the catalog does not hold the function. */
  entry?: Digest;
}

/** A planned snapshot, which a store commits in one transaction. */
export interface SnapshotBuild {
  catalog: string;
  /** Sequence of the last event that the catalog included when this was planned. */
  expectedThroughEvent: number;
  throughEvent: number;
  /** Entry rows that changed. */
  changed: CatalogEntryRow[];
  /** New rendered entries that `changed` names. */
  entries: RenderedEntry[];
  /** Absent where no entry changed: then only the reports of the next snapshot do. */
  snapshot?: SnapshotRecord;
  /** Signature of the snapshot. Absent only in snapshots of older versions. */
  signature?: SnapshotSignature;
  event?: NewEvent;
}

/** The newest signature of a snapshot. */
export interface SnapshotSignature {
  catalog: string;
  serial: number;
  /** A sigstore bundle, JSON; the bytes as they are sent. */
  bundle: string;
  /** Fingerprint of the key that signed. */
  key: Digest;
  signedAt: Time;
  /** When it no longer says that the snapshot is the newest. */
  expiresAt: Time;
}

export type SearchOrder = 'relevance' | 'name' | 'newest';

export interface SearchQuery {
  text?: string;
  tag?: string[];
  kind?: string[];
  group?: string[];
  publisher?: string[];
  runtime?: string[];
  license?: string[];
  /** Signers with a valid signature of the release, as in `describeSigner`; not necessarily trusted. */
  signedBy?: string[];
  catalog?: string[];
  /** Absent for `relevance`, which is `name` if there is no text. Fully yanked functions come last in each. */
  sort?: SearchOrder;
  /** At most 100. */
  limit: number;
  /** As an earlier page's `next` gave it. */
  cursor?: string;
}

export interface FacetCount {
  value: string;
  count: number;
}

export interface SearchPage {
  total: number;
  items: SearchResult[];
  /** For each facet the most frequent values, each facet counted without its own filter. */
  facets: Record<
    'tag' | 'kind' | 'group' | 'publisher' | 'runtime' | 'license' | 'signedBy' | 'catalog',
    FacetCount[]
  >;
  next?: string;
}

/** The signing policies of a registry, as they were applied. */
export interface PolicyRecord {
  /** Grows with every change. */
  revision: number;
  /** Exact text: YAML documents. */
  text: string;
  appliedAt: Time;
  appliedBy: string;
}

export interface TokenRecord {
  id: string;
  name: string;
  scopes: string[];
  /** Globs over groups. */
  groups: string[];
  /** Globs over repositories of artifacts. */
  repositories: string[];
  createdAt: Time;
  createdBy: string;
  expiresAt?: Time;
  lastUsedAt?: Time;
  revokedAt?: Time;
  revokedReason?: string;
}
