/** The text cannot be edited so that it has the new value: the document is written whole. */
export class Uneditable extends Error {}
