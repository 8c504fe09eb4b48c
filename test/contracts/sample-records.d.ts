import type { EventType, FunctionChange, Mark } from '@krmhub/catalog';
export declare const AT = '2030-01-02T03:04:05.678Z';
export interface SampleFunction {
  group?: string;
  kind: string;
  release?: string;
  description?: string;
  publisher?: string;
  tags?: string[];
  runtimes?: string[];
  licenses?: string[];
  allYanked?: boolean;
  deprecated?: Mark;
  yanked?: Mark;
}
/** A change that stores a release of a function, or marks one. */
export declare function changeOf(
  sample: SampleFunction,
  expectedRevision?: number,
  action?: FunctionChange['action'],
  type?: EventType,
): FunctionChange;
