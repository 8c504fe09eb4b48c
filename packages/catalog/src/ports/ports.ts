import type { Digest, FunctionName, Profile, Takedown } from '@krmhub/schema';
import type { ChangedPlace, PlaceFilter, PlacePage, PlaceQuery } from './entry-records.js';
import type {
  CatalogCut,
  CatalogFunction,
  CatalogRecord,
  Event,
  FunctionChange,
  FunctionRecord,
  FunctionTakedown,
  HeldEntrySize,
  NewEvent,
  PolicyRecord,
  ProfileForm,
  ReleaseFiles,
  ReleaseRecord,
  RenderedEntry,
  SearchPage,
  SearchQuery,
  ServedEntry,
  SnapshotRecord,
  SnapshotSignature,
  TakedownReach,
  Time,
  TokenRecord,
} from './records.js';
import type { SourceStore } from './source-store.js';

/** Immutable bytes by their digest. Every implementation passes test/contracts/blob-store.ts. */
export interface BlobStore {
  /** Resolves once the bytes survive a power cut. Storing what is there already is no error. */
  put(bytes: Uint8Array): Promise<Digest>;
  /** Undefined where there is no such blob; rejects with `internal` where the bytes no longer match the digest. */
  get(digest: Digest): Promise<Uint8Array | undefined>;
  /** For bytes that are not all in memory. */
  write(): Promise<BlobWriter>;
  /**
   * The bytes in pieces, and how many they are; undefined where there is no such blob. Nothing is opened before
   * the pieces are asked for. The last one comes only when all of them match the digest; else they end with an
   * `internal` error.
   */
  read(digest: Digest): Promise<{ size: number; pieces: AsyncIterable<Uint8Array> } | undefined>;
  /**
   * For parts of big blobs: opened now, so that a delete meanwhile takes nothing from who reads, and not checked
   * against the digest. Undefined where there is no such blob.
   */
  open(digest: Digest): Promise<OpenBlob | undefined>;
  /** Removing what is not there is no error. */
  delete(digest: Digest): Promise<void>;
  /** Every blob there is, in no order. */
  list(): AsyncIterable<Digest>;
  /** Rejects where the store cannot be written. */
  check(): Promise<void>;
}

/** A blob that stays readable until it is closed. */
export interface OpenBlob {
  /** Bytes. */
  size: number;
  /** The bytes from `start` up to and without `end`, once; it closes the blob at its end, also where it is broken off. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  /** Puts bytes from a place on into a buffer, and gives how many; 0 at the end. */
  readInto(buffer: Uint8Array, position: number): Promise<number>;
  /** For who does not use `read`. */
  close(): Promise<void>;
}

/** A blob that is being written; either `commit` or `discard` ends it. */
export interface BlobWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** The digest of what was written so far; nothing is written after it. */
  digest(): Digest;
  /** Brings what was written to the disk, so that `commit` has little left to do; nothing is written after it. */
  sync(): Promise<void>;
  /** What was written so far, to be read before the end. */
  pieces(): AsyncIterable<Uint8Array>;
  /** Resolves once the bytes survive a power cut. */
  commit(): Promise<Digest>;
  discard(): Promise<void>;
}

/**
 * What the registry knows. Methods are transactions: all of it or nothing, durable when they resolve.
 * They reject with a KrmhubError: `unavailable` where the database is locked or gone, `storage-full`
 * where the disk is. Every implementation passes test/contracts/catalog-store.ts.
 */
export interface CatalogStore extends SourceStore {
  /** The function whose kind is equal but for case; undefined where there is none. */
  function(group: string, kind: string): Promise<FunctionRecord | undefined>;
  functions(names: readonly { group: string; kind: string }[]): Promise<FunctionRecord[]>;
  /** Every function, by group and kind in code unit order. */
  allFunctions(): AsyncIterable<FunctionRecord>;
  /** How many functions there are. */
  countFunctions(): Promise<number>;
  release(group: string, kind: string, release: string): Promise<ReleaseRecord | undefined>;
  /** Which blobs a release has; reads nothing else. */
  releaseFiles(group: string, kind: string, release: string): Promise<ReleaseFiles | undefined>;
  /**
   * Applies a planned change and gives its event. Rejects with a RevisionConflict where the function is
   * no longer at the revision on which the change was planned or the policies are no longer those by which it was judged,
   * and with `conflict` where the name or the bytes of
   * a new release were taken down.
   */
  commitFunction(change: FunctionChange): Promise<Event>;
  search(query: SearchQuery): Promise<SearchPage>;
  /**
   * Brings what search finds of functions that only catalogs elsewhere have up to what newest snapshots hold, in
   * short transactions. False where the signal broke it off: what is done is done, and the next call does the rest.
   */
  synchroniseSearch(signal?: AbortSignal): Promise<boolean>;

  /** Takedowns of the function whose kind is equal but for case, in the order in which they happened. */
  takedowns(group: string, kind: string): Promise<Takedown[]>;
  allTakedowns(): Promise<Takedown[]>;
  /**
   * Applies a planned takedown: the releases and everything that repeats their content are gone from every answer,
   * and cuts that were planned before are refused. `rehearse` gives the same and changes nothing. Rejects with a
   * RevisionConflict as commitFunction does.
   */
  commitTakedown(takedown: FunctionTakedown, options?: { rehearse: boolean }): Promise<TakedownReach>;
  /** What is left to be deleted outside of the store; undefined where every takedown is finished. */
  unfinishedTakedowns(): Promise<{ takedowns: Takedown[]; blobs: Digest[] } | undefined>;
  /** Erases from the store's own files what takedowns removed from it, and remembers that they are finished. */
  finishTakedowns(): Promise<void>;
  /** Yanks, unyanks, takedowns and withdrawn snapshots after a sequence, oldest first. */
  revocations(after: number, limit: number): Promise<Event[]>;

  /** Undefined where none were ever applied. */
  policies(): Promise<PolicyRecord | undefined>;
  /** Replaces all policies. Rejects with a RevisionConflict where those before are not the expected ones, 0 for none. */
  applyPolicies(
    policies: Omit<PolicyRecord, 'revision'> & { expectedRevision: number; event: NewEvent },
  ): Promise<Event>;

  /** Events after a sequence, oldest first. */
  events(after: number, limit: number): Promise<Event[]>;
  /** Sequence of the newest event; 0 where there is none. */
  lastEvent(): Promise<number>;
  /**
   * The functions that any `release.*` event after a sequence and up to another touched. Of a catalog also those whose
   * entries in its sources changed, and every one that its sources have in a group of which this registry got the first
   * release or lost the last one. Kinds are as they are spelt, so that two may differ by case only.
   */
  functionsChanged(
    after: number,
    through: number,
    catalog?: string,
  ): Promise<{ group: string; kind: string }[]>;

  catalogs(): Promise<CatalogRecord[]>;
  catalog(name: string): Promise<CatalogRecord | undefined>;
  /** Names of the catalogs whose newest snapshot holds the function, its kind equal but for case. */
  catalogsHolding(group: string, kind: string): Promise<string[]>;
  /**
   * What newest snapshots have from catalogs elsewhere of the function whose kind is equal but for case; by catalog,
   * `default` last.
   */
  servedEntries(group: string, kind: string): Promise<ServedEntry[]>;
  /**
   * Stores a recipe; the catalog is then to be cut anew as a whole, which `throughEvent: 0` says, by the time `at`.
   * `expectedRecipe` is the text that it replaces, undefined for none; another one rejects with a RevisionConflict.
   * Its sources are all to be asked at once. What is known of a source stays while its name does;
   * the copy of another address is used until the new one answers, and binds it to nothing.
   */
  applyRecipe(input: {
    name: string;
    recipe: string;
    /** Those that are catalogs elsewhere; absent for none. */
    sources?: readonly { source: string; url: string }[];
    expectedRecipe: string | undefined;
    at: Time;
    by: string;
    event: NewEvent;
  }): Promise<Event>;
  /** Places in the newest state of a catalog, pending report changes included. */
  catalogFunctions(
    name: string,
    names?: readonly { group: string; kind: string }[],
  ): Promise<CatalogFunction[]>;
  /** The entry that the newest state of a catalog has for a function, its kind as it is spelt; else undefined. */
  catalogEntry(name: string, group: string, kind: string): Promise<RenderedEntry | undefined>;
  /**
   * A signature is stored with its snapshot, or not at all. Rejects with a RevisionConflict where the catalog was cut or
   * applied by somebody else meanwhile.
   */
  commitCut(cut: CatalogCut): Promise<void>;
  /** Newest first. */
  snapshots(name: string, limit: number): Promise<SnapshotRecord[]>;
  snapshot(name: string, reference: number | Digest): Promise<SnapshotRecord | undefined>;
  /** Undefined where the snapshot was withdrawn, or cut by a program that signed none. */
  snapshotSignature(name: string, serial: number): Promise<SnapshotSignature | undefined>;
  /** Replaces the signature of a snapshot; false where there is no such snapshot, or where it was withdrawn. */
  renewSignature(signature: SnapshotSignature): Promise<boolean>;
  /** The bundle of this digest that a snapshot of the catalog has now. */
  signatureBundle(name: string, digest: Digest): Promise<string | undefined>;
  /** Whether any snapshot of any catalog is signed. */
  hasSignatures(): Promise<boolean>;
  /** Places as of a serial, by group and kind in code unit order. */
  snapshotFunctions(name: string, serial: number): Promise<CatalogFunction[]>;
  /** A page of the places of a catalog; others have their turn while much is passed over. */
  placePage(query: PlaceQuery): Promise<PlacePage>;
  /** How many places there are, by the source of the first API version; under `''` where the catalog holds none. */
  countPlaces(filter: PlaceFilter): Promise<Map<string, number>>;
  /**
   * Functions whose place after the serial `from` and up to `to` became another one, by group and kind in code unit
   * order; at most `limit`, and then `isAll` is false. A place that became what it was is among them.
   */
  changedPlaces(
    name: string,
    serials: { from: number; to: number },
    limit: number,
  ): Promise<{ changed: ChangedPlace[]; isAll: boolean }>;
  /** Places with their entries, by group and kind in code unit order, of the newest state of a catalog. */
  heldEntries(name: string): AsyncIterable<FunctionName & { entry: RenderedEntry }>;
  /** The same places with the sizes of their entries, none of which is read. */
  heldEntrySizes(name: string): AsyncIterable<HeldEntrySize>;
  /** Entries are durable before a cut names them. */
  storeEntries(entries: readonly RenderedEntry[]): Promise<void>;
  /** Rendered entries by digest; every digest asked for is answered, or it rejects with `internal`. */
  entries(digests: readonly Digest[]): Promise<Map<Digest, RenderedEntry>>;

  /** Where a compressed or whole form of a snapshot is kept, by the digest of its identity bytes. */
  storedForm(digest: Digest, coding: 'identity' | 'gzip' | 'br'): Promise<Digest | undefined>;
  rememberForms(
    forms: readonly { digest: Digest; coding: 'identity' | 'gzip' | 'br'; blob: Digest }[],
  ): Promise<void>;
  /** Forgets the forms of these identity digests and gives the blobs that no other form names. */
  forgetForms(digests: readonly Digest[]): Promise<Digest[]>;
  /** Where a profile of a snapshot is kept, by the digest of the snapshot's catalog.yaml. */
  profileForm(snapshot: Digest, profile: Profile): Promise<ProfileForm | undefined>;
  /**
   * Its bytes and its report are remembered as forms before. Forgets those of the one that it replaces, and gives the
   * blobs that no other form names.
   */
  rememberProfileForm(form: ProfileForm): Promise<Digest[]>;
  /** Forgets the profiles of these snapshots with their forms, and gives the blobs that no other form names. */
  forgetProfileForms(snapshots: readonly Digest[]): Promise<Digest[]>;
  /**
   * Forgets the forms and profiles that no snapshot has which is not withdrawn, and gives the blobs that the others name.
   */
  keepStandingForms(): Promise<Set<Digest>>;

  /** `hash` is the SHA-256 of the secret, in hexadecimal. */
  createToken(token: TokenRecord, hash: string): Promise<void>;
  tokenByHash(hash: string): Promise<TokenRecord | undefined>;
  tokens(): Promise<TokenRecord[]>;
  /** Gives the token as it is now; undefined where there is none of that id. */
  revokeToken(id: string, at: Time, reason?: string): Promise<TokenRecord | undefined>;
  touchToken(id: string, at: Time): Promise<void>;

  /** Rejects where the database cannot be written. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Somebody else changed what a plan was made on: read again and plan anew. */
export class RevisionConflict extends Error {
  override readonly name = 'RevisionConflict';
}
