/** Limits on documents that are read: each with its unit, and why. */
export const DOCUMENT_LIMITS = {
  /** Bytes of one definition. The largest real one has 6 KB; OpenAPI schemas of big operators reach a few hundred. */
  maxDefinitionBytes: 1_048_576,
  /** Bytes of one catalog file. 10,000 functions of 2 KB have 20 MB. */
  maxCatalogBytes: 67_108_864,
  /** Bytes of one author's file, read with positions: the position-keeping parser needs about 50 times as much memory. */
  maxSourceBytes: 4_194_304,
  /** Nested collections. Deeper flow collections make V8 abort the process in the parser. */
  maxDepth: 64,
  /** Keys of one mapping: the check for duplicates is quadratic. */
  maxMappingKeys: 2_000,
  /** Nodes that aliases may stand for in one document. */
  maxAliases: 100,
  /** Documents in one file. */
  maxDocuments: 1_000,
  /** Diagnostics told of one file; the rest is counted. */
  maxDiagnostics: 200,
} as const;

export type DocumentLimits = { [Name in keyof typeof DOCUMENT_LIMITS]: number };
