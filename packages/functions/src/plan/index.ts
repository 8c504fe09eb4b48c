/** What to run on a package, in which order, and on what: pure, without files and processes. */
export { splitCommandLine } from './command-line.js';
export {
  type ConfigArguments,
  configMapText,
  readConfigArguments,
  typedConfigText,
} from './config-arguments.js';
export {
  type Declaration,
  type DeclaredRuntime,
  FUNCTION_ANNOTATIONS,
  functionScope,
  isInScope,
  readDeclaration,
  runOrder,
} from './declared-functions.js';
export { CATALOGS_ANNOTATION, KPTFILE, type Kptfile, type PipelineFunction, readKptfile } from './kptfile.js';
export { type PackageNode, packageOf, packageTree, renderOrder } from './package-tree.js';
export {
  type ConfigCandidate,
  checkPipeline,
  cleanPath,
  isFunctionImage,
  missingField,
} from './pipeline-rules.js';
export {
  type FunctionOutcome,
  functionResultList,
  resultLine,
  resultValue,
  summaryLines,
} from './results-document.js';
export { type ResourceIdentity, resourceFilter, type Selector } from './selectors.js';
