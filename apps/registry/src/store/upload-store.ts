/** A blob that is being uploaded to any process. */
export interface UploadRecord {
  id: string;
  repository: string;
  /** ID of the token that started it. */
  token: string;
  /** Bytes that are stored. */
  size: number;
}

/** Names a request that writes to an upload. */
export interface UploadOwner {
  id: string;
  /** Random ID of the request. */
  owner: string;
  /** UTC. */
  at: string;
}

/**
 * Open uploads that any process continues. One request at a time owns an upload; one that was not seen for a while
 * loses it, and stores nothing more.
 */
export interface UploadStore {
  /** Adds an empty upload. Adds none if that would exceed a limit. */
  addUpload(
    upload: Omit<UploadRecord, 'size'> & { at: string; owner?: string },
    limits: { max: number; maxOfToken: number },
  ): Promise<'added' | 'too-many' | 'too-many-of-token'>;
  upload(id: string): Promise<UploadRecord | undefined>;
  /** Makes a request the owner, and returns the names of the pieces in order. */
  takeUpload(
    owner: UploadOwner,
    lostBefore: string,
  ): Promise<{ upload: UploadRecord; pieces: string[] } | 'busy' | undefined>;
  /** Returns whether the request still owns the upload, and records that it was seen. */
  renewUpload(owner: UploadOwner): Promise<boolean>;
  /** Adds a piece at the end. Returns false if the request does not own the upload any more. */
  addUploadPiece(owner: UploadOwner, piece: { name: string; size: number }): Promise<boolean>;
  /**
   * Counts bytes that a request has received and that are in no piece, until it releases the upload or loses it.
   * Returns false if it does not own the upload any more.
   */
  reserveUploadBytes(owner: UploadOwner, size: number): Promise<boolean>;
  releaseUpload(owner: UploadOwner): Promise<void>;
  /** Returns the names of the pieces; undefined if the request does not own the upload any more. */
  endUpload(owner: UploadOwner): Promise<string[] | undefined>;
  /** Ends the uploads that nobody wrote to since a time. Returns how many, and their pieces. */
  endIdleUploads(before: string): Promise<{ ended: number; pieces: string[] }>;
  /** Returns the IDs of all open uploads. */
  openUploads(): Promise<Set<string>>;
  /** Returns the bytes of the other open uploads to a repository. */
  bytesOfOtherUploads(upload: Pick<UploadRecord, 'id' | 'repository'>): Promise<number>;
}
