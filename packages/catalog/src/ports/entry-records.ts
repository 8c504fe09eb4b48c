import type { FunctionName } from '@krmhub/schema';
import type { CatalogEntryRow } from './records.js';

/** The remarks of reports: shadowed, refused, or yanked. */
export const REPORT_REMARKS = ['refused', 'shadowed', 'yanked'] as const;
export type ReportRemark = (typeof REPORT_REMARKS)[number];

/** Selects entry rows of a catalog. */
export interface EntryFilter {
  catalog: string;
  /** Entry rows at this serial. One more than the newest serial also includes pending changes. */
  serial: number;
  /** Functions in the catalog, or functions with this remark in the report. */
  of: 'held' | ReportRemark;
}

export interface EntryQuery extends EntryFilter {
  /** Part of `group/kind`, ignoring case. */
  text?: string;
  /** Source of the first API version; only for functions in the catalog. */
  source?: string;
  /** The last function of the previous page. */
  after?: FunctionName;
  /** A page of entry rows. */
  limit: number;
}

export interface EntryPage {
  /** Sorted by group and kind in code unit order. */
  rows: CatalogEntryRow[];
  /** The value of `after` for the next page. Absent on the last page. */
  next?: FunctionName;
}

/** The entry rows of a function in two snapshots of a catalog. */
export interface ChangedEntry extends FunctionName {
  /** Absent if the function had no row. */
  before?: CatalogEntryRow;
  after?: CatalogEntryRow;
}
