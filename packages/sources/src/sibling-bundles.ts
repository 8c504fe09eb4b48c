/** Returns the names of bundles in the folder of a catalog: of krmhub, and the usual one for `cosign sign-blob`. */
export function siblingBundleNames(file: string): string[] {
  return ['snapshot.sigstore.json', ...(file === '' ? [] : [`${file}.sigstore.json`])];
}
