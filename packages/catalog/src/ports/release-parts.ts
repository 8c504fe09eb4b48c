import type { WorkflowRun } from '../access/trusted-publishers/check-claims.js';

/** The facts of a definition for selection and search filters. */
export interface DefinitionFacts {
  /** API versions of the functionConfig, most preferred first. */
  versions: string[];
  tags: string[];
  publisher: string;
  runtimes: string[];
  licenses: string[];
}

/** What a release has only for its page. */
export interface NotesAndRun {
  /** What is new in it, in Markdown. */
  notes?: string;
  /** The run of a workflow that published it. */
  run?: WorkflowRun;
}
