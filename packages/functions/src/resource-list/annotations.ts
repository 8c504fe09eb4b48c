/**
 * Annotations that the orchestrator sets on resources for functions, and removes before it writes them (KRM Functions
 * Specification v1, "Internal Annotations"; the legacy names are those of kyaml before the specification).
 */
export const PATH = 'internal.config.kubernetes.io/path';
export const INDEX = 'internal.config.kubernetes.io/index';
export const ID = 'internal.config.kubernetes.io/id';
export const SEQUENCE_INDENT = 'internal.config.kubernetes.io/seqindent';
/** Of kpt: the package of a resource in a render. */
export const PACKAGE_PATH = 'internal.config.kubernetes.io/package-path';
export const LEGACY_PATH = 'config.kubernetes.io/path';
export const LEGACY_INDEX = 'config.kubernetes.io/index';
export const LEGACY_ID = 'config.k8s.io/id';

/** kyaml wraps a document that is a list into a mapping with this key. */
export const BARE_LIST_KEY = 'bareSeqNodeWrappingKey';

/** Annotations of the orchestrator; what a file has under these names is not read. */
export const OWN_ANNOTATIONS: readonly string[] = [
  PATH,
  INDEX,
  ID,
  SEQUENCE_INDENT,
  PACKAGE_PATH,
  LEGACY_PATH,
  LEGACY_INDEX,
  LEGACY_ID,
  // Of kpt, which removes them too.
  'internal.config.kubernetes.io/annotations-migration-resource-id',
  'internal.config.k8s.io/kpt-resource-id',
];

/** Functions must not add annotations with it. */
export const INTERNAL_PREFIX = 'internal.config.kubernetes.io/';
