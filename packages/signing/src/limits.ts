/** Limits for signatures: the unit and the reason for each. */
export const SIGNING_LIMITS = {
  /** Bytes of a bundle. Bills of materials of big images reach a few million. */
  maxBundleBytes: 4_194_304,
  /** Bytes of a trusted root. The public one has 12,000. */
  maxTrustedRootBytes: 1_048_576,
  /** Subjects of one statement. */
  maxSubjects: 1_000,
  /** Entries of transparency logs in one bundle, each of which is two signatures to check. */
  maxLogEntries: 8,
  /** UTF-16 code units of a log's checkpoint, in which each signature is looked up and checked; real ones have 500. */
  maxCheckpointLength: 16_384,
  /** Timestamps in one bundle. */
  maxTimestamps: 8,
  /** Bytes of one timestamp, which may have the certificates of its authority in it. Real ones have up to 6,000. */
  maxTimestampBytes: 16_384,
  /** Certificates in one bundle. */
  maxCertificates: 8,
  /** Bytes of one certificate. Real ones have up to 3,000. */
  maxCertificateBytes: 8_192,
  /** Bytes of what one extension of a certificate states about its source. Real ones have up to 200. */
  maxExtensionBytes: 2_048,
  /** Levels of ASN.1 in either, each of which the library encodes again. Real ones have 16. */
  maxAsn1Levels: 32,
  /** Digests of one subject, each by another algorithm. */
  maxDigests: 16,
  /** Names in each list of a test result. */
  maxTests: 1_000,
  /** UTF-16 code units of the name of a test. */
  maxTestNameLength: 256,
  /** Examples in a test result, with their files. */
  maxRecordedExamples: 8,
  /** UTF-16 code units of these examples as JSON: a page shows them. */
  maxRecordedLength: 65_536,
  /** Items of the configuration of a test result: what ran, and with what. */
  maxTestResources: 100,
  /** Memory that opening a key file may take, in bytes: 128 · N · r of scrypt. */
  maxScryptBytes: 268_435_456,
} as const;
