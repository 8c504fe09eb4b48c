/** Limits on the package that functions run on: the unit and the reason for each. */
export interface PackageLimits {
  /** Files of resources. */
  maxFiles: number;
  /** Size of one file of resources. */
  maxFileBytes: number;
  /** Size of all of them. They are in memory while functions run. */
  maxBytes: number;
  /** Folders inside of folders. */
  maxDepth: number;
  /** Files and folders of any kind, ignored ones not included: so that a wrong folder, such as `/`, ends soon. */
  maxEntries: number;
}

export const PACKAGE_LIMITS: PackageLimits = {
  maxFiles: 200_000,
  maxFileBytes: 67_108_864,
  maxBytes: 1_073_741_824,
  maxDepth: 64,
  maxEntries: 1_000_000,
};
