/** Limits on documents: the unit and the reason for each. */
export const DOCUMENT_LIMITS = {
  /**
   * Size of one definition. The largest real definition has 6 KB. OpenAPI schemas of large operators have a few hundred
   * KB.
   */
  maxDefinitionBytes: 1_048_576,
  /** Size of one catalog file. 10,000 functions of 2 KB require 20 MB. */
  maxCatalogBytes: 67_108_864,
  /** Size of one file that is parsed with source positions. That parser requires about 50 times as much memory. */
  maxSourceBytes: 4_194_304,
  /** Levels of nested collections. In deeper flow collections, the parser would crash V8. */
  maxDepth: 64,
  /** Keys of one mapping. The check for duplicates is quadratic. */
  maxMappingKeys: 2_000,
  /** Nodes in one document that aliases expand to. */
  maxAliases: 100,
  /** Documents in one file. */
  maxDocuments: 1_000,
  /** Diagnostics that are listed for one file. Further diagnostics are only counted. */
  maxDiagnostics: 200,
} as const;

/**
 * Length of a text that can be a search filter: a tag, a publisher, or a license. A group has at most 253 characters.
 */
export const MAX_FILTER_LENGTH = 253;
/** Length of the name of a signer: the subject and the issuer of a certificate, which are URLs. */
export const MAX_SIGNER_LENGTH = 2_000;

export type DocumentLimits = { [Name in keyof typeof DOCUMENT_LIMITS]: number };
