import type {
  Digest,
  EntryVersion,
  EventType,
  FunctionDefinition,
  FunctionName,
  ProvenanceSummary,
  Refused,
  Replacement,
  ReportedSource,
  RequestOrigin,
  Shadowed,
  Signer,
  SnapshotRendition,
  Takedown,
  TakenDownSigner,
  TestSummary,
  Withdrawal,
} from '@krmhub/schema';
import type { GroupOwner } from '../access/access-rules.js';
import type { DefinitionFacts, NotesAndRun } from './release-parts.js';
import type { ReleaseWords } from './release-words.js';
import type { RuntimePin } from './runtime-pin.js';
import type { DocumentFacts, SegmentChanges } from './segment-records.js';

export type { EventType, Signer } from '@krmhub/schema';

/** Records of the stores. Times are RFC 3339 in UTC with milliseconds. */
export type Time = string;

/** A valid signature of a release. Policies decide whether it is trusted. */
export interface ReleaseSignature {
  /** Digest of the bundle. */
  bundle: Digest;
  signer: Signer;
  /** The signing time, if a log or a timestamp authority verifies it. */
  signedAt?: Time;
  /** When this registry or client first received it. */
  receivedAt: Time;
  /** Whether it covers the manifest of the release, including the README. Absent if it covers only the definition. */
  isWhole?: boolean;
}

/** A signature or attestation of a release, and the result of its verification. */
export interface ReleaseBundle {
  /** Digest of the bytes of the bundle. */
  digest: Digest;
  /** Size in bytes. */
  size: number;
  /** Digest of the manifest that contains it, a referrer of the manifest of the release. */
  manifest: string;
  /** Whether it is a signature of the release, or an attestation. */
  claim: 'signature' | 'attestation';
  /** Predicate type of the in-toto statement. */
  predicateType: string;
  /** The signer. Absent if the key was unknown at the last verification and could not be derived. */
  signer?: Signer;
  /** The signing time, if a log or a timestamp authority verifies it. */
  signedAt?: Time;
  /** Whether it covers the manifest of the release, including the README. Absent if it covers only the definition. */
  isWhole?: boolean;
  /** What it says, if it is an attestation of a test run. */
  tests?: TestSummary;
  /** What it says, if it is SLSA provenance. */
  provenance?: ProvenanceSummary;
  receivedAt: Time;
  receivedBy: string;
}

/** An attestation of a release that a policy can require. */
export type ReleaseAttestation = Pick<
  ReleaseBundle,
  'predicateType' | 'signedAt' | 'receivedAt' | 'tests' | 'provenance'
> & { signer: Signer };

/** Who changed a release, when, and why. */
export interface LifecycleRecord {
  at: Time;
  by: string;
  reason: string;
}

/** Why a release is outdated, and what to use instead. */
export interface DeprecationRecord extends LifecycleRecord {
  /** Absent if the publisher named none. */
  replacement?: Replacement;
}

/** The summary of a release without its definition: everything for selection and search filters. */
export interface ReleaseSummary extends DefinitionFacts {
  /** Canonical SemVer name. */
  release: string;
  /** Digest of the exact bytes of the definition. */
  digest: Digest;
  /** Size of the definition in bytes. */
  size: number;
  publishedAt: Time;
  publishedBy: string;
  yanked?: LifecycleRecord;
  deprecated?: DeprecationRecord;
  /** Bundles in the order in which they were received. Absent if there are none. */
  bundles?: ReleaseBundle[];
  /** Digest of the exact bytes of the README. */
  readme?: Digest;
}

export type DefinitionMediaType = 'application/yaml' | 'application/json';

export interface ReleaseRecord extends ReleaseSummary, NotesAndRun, FunctionName {
  mediaType: DefinitionMediaType;
  /** The definition in normal form. */
  definition: FunctionDefinition;
}

/** A release without its definition, which can be large. */
export type ReleaseHead = Omit<ReleaseRecord, 'definition' | keyof NotesAndRun>;

/** The blobs of a release. */
export type ReleaseFiles = Pick<ReleaseRecord, 'digest' | 'mediaType' | 'readme'>;

/** A function with all its releases, newest first by precedence. */
export interface FunctionRecord extends FunctionName {
  /** Increases with every change. A change that was planned at another revision is rejected. */
  revision: number;
  releases: ReleaseSummary[];
}

/** What a function may access besides its input, and whether it can change without a new release. */
export interface RuntimeFacts {
  /** Whether it may access the network. An executable may access everything that its user can. */
  network: boolean;
  /** Whether it may access files. */
  storage: boolean;
  /** Whether a digest pins everything that it runs. */
  pinned: boolean;
}

/** The search document of a function, for queries and results. */
export interface SearchDocument extends FunctionName, RuntimeFacts {
  description: string;
  publisher: string;
  /** The newest release that is not yanked, or the newest release if all are yanked. */
  release: string;
  versions: string[];
  tags: string[];
  runtimes: string[];
  licenses: string[];
  /** OCI repositories of what the displayed release runs, such as `registry.example.com/fn`. */
  images: string[];
  /** Whether every release is yanked. */
  yanked: boolean;
  /** Whether the displayed release is deprecated. */
  deprecated: boolean;
  /** The valid signatures of the displayed release. */
  signatures: ReleaseSignature[];
  /** Its attestations that policies can require. */
  attestations: ReleaseAttestation[];
  /** When the displayed release was published. */
  published: Time;
}

/** The origin of an upstream function: a catalog, and a source of its recipe. */
export interface UpstreamOrigin {
  catalog: string;
  /** Name of the source in the recipe of the catalog. */
  source: string;
}

/** A search result: a function of this registry, or a function that exists only in upstream catalogs. */
export interface SearchResult extends Omit<SearchDocument, 'release' | 'images' | 'published'> {
  /** Absent if this registry has no release of it, because the release is then unknown. */
  release?: string;
  /** Tag of the images of an upstream function, if all have the same. */
  imageTag?: string;
  /** Publish time of the displayed release. */
  publishedAt?: Time;
  /** What to use instead of the displayed release, if it is deprecated. */
  replacement?: Replacement;
  /** By catalog, `default` last. Absent for a function of this registry. */
  from?: UpstreamOrigin[];
  /** Of the group. Absent if it has none. */
  owner?: GroupOwner;
}

/** The entry of the newest snapshot of a catalog for a function from an upstream catalog, at least in part. */
export interface ServedEntry extends FunctionName {
  catalog: string;
  serial: number;
  /** Digest of the served entry in normal form. `SnapshotStore.entries` returns the entry. */
  entry: Digest;
  versions: EntryVersion[];
}

export interface NewEvent {
  type: EventType;
  at: Time;
  by: string;
  group?: string;
  kind?: string;
  release?: string;
  digest?: Digest;
  catalog?: string;
  /** Name of a source in the recipe of the catalog. */
  source?: string;
  serial?: number;
  reason?: string;
  /** What to use instead of a deprecated release. */
  replacement?: Replacement;
}

export interface Event extends NewEvent {
  /** Numbers all events of a registry from 1, without gaps that could hide an event from readers. */
  sequence: number;
  /**
   * The signers of a release that was taken down; only in the revocation feed, from which tombstones can be restored.
   */
  signers?: TakenDownSigner[];
  /** Digests of the scripts that were taken down with the release; as `signers`. */
  scripts?: Digest[];
  /** Digests that its runtimes named and no release names now; as `signers`. */
  runtimeDigests?: Digest[];
}

/** One planned change of one function, which a store commits in one transaction. */
export interface FunctionChange extends FunctionName {
  /** The revision of the plan; 0 for a new function. */
  expectedRevision: number;
  /** The revision of the signing policies in the plan, 0 for none. Absent if they were not evaluated. */
  expectedPolicies?: number;
  /** A new release, or changed lifecycle and bundles of an existing one. */
  action: 'insert' | 'update';
  release: ReleaseRecord;
  /** Of a new release. */
  words?: ReleaseWords;
  search: SearchDocument;
  event: NewEvent;
  origin?: RequestOrigin | undefined;
}

/** A planned takedown, which a store commits in one transaction. */
export interface FunctionTakedown extends FunctionName {
  /** The revision of the plan; 0 for a new function. */
  expectedRevision: number;
  /** Every release of the function with these bytes. Their `scripts` are those of a record. */
  takedowns: Takedown[];
  /** What their definition names as scripts, as candidates. Absent for nothing. */
  scripts?: readonly RuntimePin[];
  origin?: RequestOrigin | undefined;
  /** The search document afterwards. Absent if no release remains. */
  search?: SearchDocument;
}

/** The effect of a takedown. */
export interface TakedownResult {
  /** Sequence of its last event. */
  event: number;
  /** Snapshots with an entry that contained content of these releases. */
  withdrawn: { catalog: string; serial: number; digest: Digest }[];
  /** Blobs of definitions and READMEs, and the releases that still use them. */
  blobs: { digest: Digest; keptBy: (FunctionName & { release: string })[] }[];
  /** Starlark scripts of the definitions in repositories, by the digest of the manifest, and what still uses them. */
  scripts: { digest: Digest; keptBy: (FunctionName & { release: string })[] }[];
  /** Digests of images, executables, and scripts that the registry refuses from now on. */
  refused: Digest[];
  /** Artifact repositories with copies, which lose the manifests that reference them. */
  repositories: string[];
}

/** The selected release for each API version of a function in a catalog, and the omitted ones. */
export interface Selection extends FunctionName {
  /** In order of preference. Empty if the catalog does not contain the function. */
  versions: EntryVersion[];
  shadowed: Omit<Shadowed, 'group' | 'kind'>[];
  /** Absent if there are none. */
  refused?: Omit<Refused, 'group' | 'kind'>[];
  /** Yanked releases that would otherwise be selected. */
  yanked: { release: string; source: string }[];
}

/** A rendered entry of `krmFunctions`. */
export interface RenderedEntry {
  /** Digest of `yaml`. */
  digest: Digest;
  /** A list item at the indentation of `spec.krmFunctions`, with its line break. */
  yaml: string;
  /** The same entry as one line of JSON, without a line break. */
  json: string;
}

/** A catalog, and its newest snapshot. */
export interface CatalogHead {
  name: string;
  newest?: SnapshotRecord;
}

export interface CatalogRecord extends CatalogHead {
  /** The exact text of the recipe. */
  recipe: string;
  appliedAt: Time;
  appliedBy: string;
  /** The newest snapshot includes every event up to this sequence. */
  throughEvent: number;
  /**
   * The time for minimum ages. It advances when an entry reaches its minimum age, so that time is an event like others.
   */
  clock: Time;
}

/** Who deleted a catalog, when, and why. */
export interface CatalogDeletion extends LifecycleRecord {
  /** Until then, the catalog can be restored. */
  restorableUntil: Time;
  /** When the deletion of its data started. Absent while it is stored. */
  purgedAt?: Time;
}

/** What remains visible of a deleted catalog. Its name stays reserved. */
export interface CatalogTombstone extends CatalogDeletion {
  name: string;
}

/** A source as the record of a snapshot keeps it. */
export interface SnapshotSource extends ReportedSource {
  /** The URL of the copy if the recipe had another one. No document has it: who reads the catalog may not know it. */
  copyUrl?: string;
}

export interface SnapshotRecord {
  catalog: string;
  serial: number;
  previous: Digest | null;
  /** Labels of the catalog at that time, which are required to regenerate the bytes. */
  labels?: Record<string, string>;
  digests: Record<SnapshotRendition, Digest>;
  /** Absent in snapshots of older versions. */
  documents?: Record<SnapshotRendition, DocumentFacts>;
  /** Number of functions. */
  functions: number;
  createdAt: Time;
  /** The state of the upstream sources at that time. Absent if there are none. */
  sources?: SnapshotSource[];
  /** The takedown that deleted its bytes. Names and digests remain. */
  withdrawn?: Withdrawal;
}

/** The row of a function in a catalog, from one serial to another. */
export interface CatalogEntryRow extends Selection {
  /** Digest of the rendered entry. Absent if the catalog does not contain the function. */
  entry?: Digest;
}

/** A planned snapshot, which a store commits in one transaction. */
export interface SnapshotBuild {
  catalog: string;
  /** Sequence of the last event in the catalog at the time of the plan. */
  expectedThroughEvent: number;
  throughEvent: number;
  /**
   * What `catalogReaderRules` returned for the rules that it was compared by. If it is absent, or other rules decide now
   * what the catalog may contain, none may have been applied since `throughEvent`.
   */
  readerRules?: Digest;
  /** Entry rows that changed. */
  changed: CatalogEntryRow[];
  /** New rendered entries in `changed`. */
  entries: RenderedEntry[];
  /** Absent if no entry changed. Then only the report of the next snapshot changes. */
  snapshot?: SnapshotRecord;
  /** Changed segments; only with a snapshot. */
  segments?: SegmentChanges;
  /** Signature of the snapshot. Absent only in snapshots of older versions. */
  signature?: SnapshotSignature;
  event?: NewEvent;
}

/** The newest signature of a snapshot. */
export interface SnapshotSignature {
  catalog: string;
  serial: number;
  /** A sigstore bundle in JSON: the exact bytes of the response. */
  bundle: string;
  /** Fingerprint of the signing key. */
  key: Digest;
  signedAt: Time;
  /** Expiry time: after it, the signature does not prove that the snapshot is the newest. */
  expiresAt: Time;
}

/** A document of the whole registry, as an administrator applied it. */
export interface AppliedDocument {
  /** Increases with every change. */
  revision: number;
  /** Exact text: YAML documents. */
  text: string;
  appliedAt: Time;
  appliedBy: string;
}
