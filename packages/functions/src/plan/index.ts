/**
 * Plans which functions run on a package, in which order, and on which resources.
 *
 * Pure: no files and no processes. This entry leaves out the modules that load a library.
 *
 * @module
 */

export { splitCommandLine } from './command-line.js';
export {
  type ConfigArguments,
  configMapText,
  readConfigArguments,
  typedConfigText,
} from './config-arguments.js';
export {
  CATALOGS_ANNOTATION,
  KPTFILE,
  type Kptfile,
  PIPELINE_FIELDS,
  type PipelineField,
  type PipelineFunction,
  type ResourceReference,
} from './kptfile-content.js';
export {
  levelOrder,
  nearestPackage,
  type PackageNode,
  packageFolders,
  packageTree,
  renderOrder,
} from './package-tree.js';
export {
  type ConfigCandidate,
  checkPipeline,
  cleanPath,
  entryProblem,
  missingField,
} from './pipeline-rules.js';
export { readKptfile } from './read-kptfile.js';
export type { RenderFailure, StepOutcome } from './render-status.js';
export {
  type FunctionOutcome,
  functionResultList,
  resultLine,
  resultValue,
  summaryLines,
} from './results-document.js';
export { fileMatcher, resourceFilter, type Selector } from './selectors.js';
export { fullImage, isFunctionImage, type StepImage, stepImage } from './step-image.js';
