import type { KrmhubError } from '@krmhub/schema/error';
import type { FunctionResult } from '../output/function-result.js';
import type { RunResult } from '../output/run-result.js';
import type { ResourceListVersion } from '../resource-list/encode.js';
import type { FileFormat } from '../resource-list/file-formats.js';
import type { Resource } from '../resource-list/resource.js';

/** One function of a chain. */
export interface Step {
  /** As it is printed: an image, a file, or a kind. */
  name: string;
  /** What a validator changes is dropped. */
  type: 'mutator' | 'validator';
  /** Runs the function with a ResourceList. A function that fails gives its exit code; one that was ended rejects. */
  run(input: Uint8Array, options: { signal?: AbortSignal | undefined }): Promise<RunResult>;
  /** YAML, or what gives it from the resources before this step. */
  functionConfig?: string | ((resources: readonly Resource[]) => string | undefined);
  /** Absolute path of the file that the functionConfig is from, if it is from one. */
  configFile?: string | undefined;
  /** Throws if the function must not run with this functionConfig. */
  checkConfig?: (functionConfig: string | undefined, file: string | undefined) => void | Promise<void>;
  /** The resources that the function gets; all by default. The others stay as they are. */
  select?: (resource: Resource) => boolean;
  /** Whether the function runs on what it would get; always by default. Throws if it cannot be decided. */
  condition?: (selected: readonly Resource[]) => boolean | Promise<boolean>;
  /** Default: `config.kubernetes.io/v1`. */
  apiVersion?: ResourceListVersion;
  /** Whether the function may delete all resources that it gets. */
  allowEmpty?: boolean;
  /** Whether the chain continues, with its output, if the function fails (kpt guide of 2020, "Deferring Failure"). */
  deferFailure?: boolean;
}

/** How a function ended. It passed if there is no error. */
export interface StepResult {
  step: Step;
  /** Its condition was false, and it did not run. */
  isSkipped: boolean;
  /** 0 if the function was ended or broke a rule: see `error`. */
  exitCode: number;
  results: readonly FunctionResult[];
  /** YAML with the field `results` as the function wrote it. Absent without results. */
  resultsText?: string;
  /** Text of the function: escape it before you print it. */
  stderr: Uint8Array;
  stderrTruncated: boolean;
  milliseconds: number;
  /** See RunResult. */
  peakBytes?: number;
  /** How many resources the function got, and gave back. */
  selected: number;
  output: number;
  /** Why the step failed: of a function that exited with another code than 0 too. */
  error?: KrmhubError;
}

export interface ChainOptions {
  signal?: AbortSignal | undefined;
  /** `package-path` of resources that functions add. */
  packagePath?: string;
  /** How files will be written. Default: edit. */
  format?: FileFormat;
  onStart?: (step: Step, selected: number) => void;
  onEnd?: (result: StepResult) => void;
}

export interface ChainResult {
  /** After the last step that passed. */
  resources: readonly Resource[];
  /** One for each step that was run. */
  steps: readonly StepResult[];
  /** The step that ended the chain, or the first whose failure was deferred. */
  failed?: StepResult;
}
