import type { EditNote } from '@krmhub/schema/edit-yaml';

/** A change of one file of a package. */
export type FileChange =
  | { type: 'create'; path: string; after: string }
  | { type: 'update'; path: string; before: string; after: string }
  | { type: 'delete'; path: string; before: string };

/** What a write does to a package. Files that stay as they are have no entry. */
export interface WritePlan {
  changes: FileChange[];
}

/** A plan that was made of resources. */
export interface PlannedWrite extends WritePlan {
  /** Files of which a part could not be edited as it should be. */
  notes: { path: string; notes: readonly EditNote[] }[];
}
