/** What search knows of a release besides its search document: words of its files, separated by spaces. */
export interface ReleaseWords {
  /** Names of the fields of its functionConfigs. */
  fields: string;
  /** Words of its README; empty without one. */
  readme: string;
}
