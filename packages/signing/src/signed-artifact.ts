/** The artifact that a bundle has to be a signature of. */
export interface SignedArtifact {
  /** `ALGORITHM:HEX`. A bundle is for this artifact if it signs one of these digests. */
  digests: readonly string[];
  /** The bytes themselves. A signature without a DSSE envelope is verified over them. */
  bytes?: Uint8Array;
}
