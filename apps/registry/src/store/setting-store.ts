/**
 * What the processes of a registry agree on, the newest copy of the search index, and whether all releases have
 * artifacts, and words for search.
 */
export type SettingName =
  | 'blob-store'
  | 'registry-key'
  | 'release-artifacts'
  | 'release-words'
  | 'search-index';

/** Settings that the registry makes itself at its first start: one text by name. */
export interface SettingStore {
  setting(name: SettingName): Promise<string | undefined>;
  /** Stores a value if the current one is `before`. Returns the current one: of two processes, both get one value. */
  changeSetting(name: SettingName, before: string | undefined, value: string): Promise<string>;
}
