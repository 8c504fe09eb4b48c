import type { FileFormat } from '../resource-list/file-formats.js';
import type { Resource } from '../resource-list/resource.js';

/** What a function got. */
export interface StepInput {
  /** The text of each item, with the id of its position from 1. */
  items: readonly string[];
  resources: readonly Resource[];
  /** Whether nothing followed the items. */
  isLast: boolean;
  /** Whether models take too much memory to be kept. */
  isLarge: boolean;
  packagePath: string;
  /** How files will be written. */
  format: FileFormat;
  /** Of the function, for messages. */
  name: string;
}

/** What a function gave back. */
export interface StepOutput {
  resources: readonly Resource[];
  /** The position in the input that each comes from; undefined for what the function added. */
  origins: readonly (number | undefined)[];
}
