/** Under which names a signature may stand beside a catalog: as krmhub serves it, and as `cosign sign-blob` is mostly told to. */
export function siblingBundleNames(file: string): string[] {
  return ['snapshot.sigstore.json', ...(file === '' ? [] : [`${file}.sigstore.json`])];
}
