/** Somebody else changed what a plan was made on: read again and plan again. */
export class RevisionConflict extends Error {
  override readonly name = 'RevisionConflict';
}
