/** Describes the release of an upstream function, which its catalog does not name, by the tag of its image. */
export function importedRelease(imageTag: string | undefined): string {
  return imageTag === undefined ? 'release unknown' : `image ${imageTag}`;
}
