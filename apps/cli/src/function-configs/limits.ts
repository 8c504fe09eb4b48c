/** Limits on what is read to find functionConfigs: the unit and the reason for each. */
export const LAYER_LIMITS = {
  /** Bases of bases. Real kustomizations have about five. */
  maxLayerDepth: 32,
  /** Kustomizations, components, Compositions and Kptfiles. A base that is used twice counts twice, as it is built twice. */
  maxLayers: 1_000,
  /** Files that are parsed: kustomizations and functionConfigs. */
  maxConfigFiles: 5_000,
  /** Bytes of these files together: each is parsed with positions. */
  maxConfigBytes: 67_108_864,
  /** functionConfigs that are listed. */
  maxListedFunctions: 10_000,
  /** Values that the aliases of one document expand to. Kustomizations of Kubernetes have more than definitions. */
  maxConfigAliases: 1_000,
} as const;
