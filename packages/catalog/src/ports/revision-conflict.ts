/** A concurrent change made a plan outdated. Read the data and plan again. */
export class RevisionConflict extends Error {
  override readonly name = 'RevisionConflict';
}
