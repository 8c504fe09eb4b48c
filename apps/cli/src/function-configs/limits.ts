/** Limits on what is read to find functionConfigs: the unit and the reason for each. */
export const LAYER_LIMITS = {
  /** Levels of bases. Real kustomizations have about five. */
  maxLayerDepth: 32,
  /** Kustomizations, components, Compositions, and Kptfiles. A base that is used twice counts twice. */
  maxLayers: 1_000,
  /** Parsed files: kustomizations and functionConfigs. */
  maxConfigFiles: 5_000,
  /** Total size of these files. Each file is parsed with positions. */
  maxConfigBytes: 67_108_864,
  /** Listed functionConfigs. */
  maxListedFunctions: 10_000,
  /** Values in one document that aliases expand to. Kustomizations have more aliases than definitions. */
  maxConfigAliases: 1_000,
} as const;
