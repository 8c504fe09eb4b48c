import type { FunctionName } from '@krmhub/schema';
import type { CatalogEntryRow } from './records.js';

/** What a report says of places: that something there was shadowed, refused or yanked. */
export const REPORT_REMARKS = ['refused', 'shadowed', 'yanked'] as const;
export type ReportRemark = (typeof REPORT_REMARKS)[number];

/** Which places of a catalog are meant. */
export interface EntryFilter {
  catalog: string;
  /** Places as of this serial. One more than that of the newest snapshot has what waits for the next one, too. */
  serial: number;
  /** Functions in the catalog, or functions with this remark in its report. */
  of: 'held' | ReportRemark;
}

export interface EntryQuery extends EntryFilter {
  /** Part of `group/kind`, whatever its case. */
  text?: string;
  /** Source of the first API version; only for functions in the catalog. */
  source?: string;
  /** The last function of the page before. */
  after?: FunctionName;
  /** Places of a page. */
  limit: number;
}

export interface EntryPage {
  /** By group and kind in code unit order. */
  rows: CatalogEntryRow[];
  /** For `after` of the next page; absent on the last one. */
  next?: FunctionName;
}

/** The place of a function in one snapshot of a catalog and in another one. */
export interface ChangedEntry extends FunctionName {
  /** Absent where the function had none yet. */
  before?: CatalogEntryRow;
  after?: CatalogEntryRow;
}
