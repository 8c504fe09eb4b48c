/** Returns what stands for the release of an upstream function, whose catalog names none: the tag of its image. */
export function importedRelease(imageTag: string | undefined): string {
  return imageTag === undefined ? 'release unknown' : `image ${imageTag}`;
}
