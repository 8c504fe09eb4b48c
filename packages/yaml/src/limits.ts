/** Limits on what is read: the unit and the reason for each. */
export const YAML_LIMITS = {
  /** Size of one catalog file. 10,000 functions of 2 KB require 20 MB. */
  maxCatalogBytes: 67_108_864,
  /** Size of one file that is parsed with source positions. Its nodes require up to 50 times as much memory. */
  maxSourceBytes: 4_194_304,
  /** Levels of nested collections. Parser, readers, and writers are recursive. */
  maxDepth: 64,
  /** Keys of one mapping. */
  maxMappingKeys: 2_000,
  /** Nodes in one document that aliases expand to. */
  maxAliases: 100,
  /** Documents in one file. */
  maxDocuments: 1_000,
  /** Diagnostics that are listed for one file. Further diagnostics are only counted. */
  maxDiagnostics: 200,
} as const;

/** Limits on resources, which functions read and write. Schemas in CustomResourceDefinitions reach 40 levels. */
export const RESOURCE_LIMITS = {
  maxDepth: 200,
  /** A ConfigMap has as many keys as it has files. */
  maxMappingKeys: Number.POSITIVE_INFINITY,
  /** Some emitters write an alias for every value that occurs twice. */
  maxAliases: 100_000,
} as const satisfies Partial<YamlLimits>;

/** Levels of a value with those of its aliases. A document without aliases has at most 200. */
export const MAX_LEVELS = 1000;

/** What every reader of YAML counts. */
export interface NestingLimits {
  maxDepth: number;
  maxMappingKeys: number;
}

export type YamlLimits = { [Name in keyof typeof YAML_LIMITS]: number };
