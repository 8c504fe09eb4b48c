import { YAML_LIMITS } from '@krmhub/yaml/limits';

/** Limits on documents: the unit and the reason for each. */
export const DOCUMENT_LIMITS = {
  /**
   * Size of one definition. The largest real definition has 6 KB. OpenAPI schemas of large operators have a few hundred
   * KB.
   */
  maxDefinitionBytes: 1_048_576,
  /** Size of a Starlark script. Real ones have a few kilobytes. */
  maxScriptBytes: 1_048_576,
  ...YAML_LIMITS,
} as const;

/**
 * Length of a text that can be a search filter: a tag, a publisher, or a license. A group has at most 253 characters.
 */
export const MAX_FILTER_LENGTH = 253;
/** Length of the name of a signer: the subject and the issuer of a certificate, which are URLs. */
export const MAX_SIGNER_LENGTH = 2_000;

export type DocumentLimits = { [Name in keyof typeof DOCUMENT_LIMITS]: number };
