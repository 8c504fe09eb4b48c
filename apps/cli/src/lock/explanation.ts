import type { PinnedRuntime } from '@krmhub/catalog';
import type { CatalogState, ResolvedCatalog, ResolvedInline } from '@krmhub/consume/resolve/resolution';
import type { ChangeKind } from '@krmhub/schema/documents/change-kinds';
import type { ListedFunction } from '../function-configs/layers.js';

/** What the registry of a function says of it now. */
export interface ExplainedUpdate {
  /** URL of its page. */
  page?: string;
  /** Of a locked function: the release that is locked if it is upgraded, and what that changes. */
  behind?: { release: string; changes?: ChangeKind[] };
}

/** A functionConfig in the JSON output of `krmhub explain`. */
export interface Explanation extends ExplainedUpdate {
  apiVersion: string;
  kind: string;
  name?: string;
  /** Relative to the working directory, if it is below it. */
  file: string;
  line: number;
  column: number;
  field: ListedFunction['field'];
  /** Folder of the kustomization, Composition or Kptfile. */
  layer: string;
  state: 'resolved' | 'inline' | 'not-found' | 'not-trusted' | 'unreachable' | 'invalid';
  /** Why it is this function, or why none, in one sentence. */
  reason: string;
  hint?: string;
  catalog?: ResolvedCatalog;
  /** Searched before, without success. */
  searched: CatalogState[];
  release?: string;
  definition?: string;
  signedBy?: string;
  runtime?: PinnedRuntime | ResolvedInline;
  isLocked: boolean;
  warnings: string[];
}
