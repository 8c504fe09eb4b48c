import type { FunctionDefinition } from '@krmhub/schema';
import type { FunctionDetail, Release, ServedEntry } from './function-model.js';

/** Answers of the API whose definitions are known to be in normal form. */

export type ReleaseAnswer = Omit<Release, 'definition'> & { definition: FunctionDefinition };

/** What a catalog serves of a function that it takes from elsewhere. */
export type ServedAnswer = Omit<ServedEntry, 'definition'> & { definition: FunctionDefinition };

export type FunctionAnswer = Omit<FunctionDetail, 'newest' | 'entries'> & {
  newest?: ReleaseAnswer;
  entries?: ServedAnswer[];
};
