import type { Resource } from '../resource-list/resource.js';

/** What a function got. */
export interface StepInput {
  /** The text of each item, with the id of its position from 1. */
  items: readonly string[];
  resources: readonly Resource[];
  packagePath: string;
  /** Of the function, for messages. */
  name: string;
}
