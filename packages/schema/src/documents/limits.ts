/** Limits on documents: the unit and the reason for each. */
export const DOCUMENT_LIMITS = {
  /** Size of one definition. The largest real one has 6 KB; OpenAPI schemas of big operators reach a few hundred KB. */
  maxDefinitionBytes: 1_048_576,
  /** Size of one catalog file. 10,000 functions of 2 KB need 20 MB. */
  maxCatalogBytes: 67_108_864,
  /** Size of one author's file that is parsed with source positions: that parser needs about 50 times as much memory. */
  maxSourceBytes: 4_194_304,
  /** Nested collections. Deeper flow collections make V8 abort the process in the parser. */
  maxDepth: 64,
  /** Keys of one mapping: the check for duplicates is quadratic. */
  maxMappingKeys: 2_000,
  /** Nodes that aliases in one document may expand to. */
  maxAliases: 100,
  /** Documents in one file. */
  maxDocuments: 1_000,
  /** Diagnostics reported for one file; further ones are only counted. */
  maxDiagnostics: 200,
} as const;

/** Length of a text that search takes as a filter: a tag, a publisher, a license. A group has at most 253 characters. */
export const MAX_FILTER_LENGTH = 253;

export type DocumentLimits = { [Name in keyof typeof DOCUMENT_LIMITS]: number };
