/** Limits of `krmhub build`: the unit and the reason for each. */
export const BUILD_LIMITS = {
  /** Files, links and folders that are copied for kustomize. A large repository of manifests has some thousands. */
  maxCopiedFiles: 20_000,
  /** Size of these files together. */
  maxCopiedBytes: 268_435_456,
  /** Size of the resources that kustomize gives to one function. */
  maxInputBytes: 1_073_741_824,
  /** Calls of functions beyond those that were found. Each is refused with an error. */
  maxUnknownCalls: 16,
} as const;

export interface CopyLimits {
  maxCopiedFiles: number;
  maxCopiedBytes: number;
}
