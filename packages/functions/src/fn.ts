export { runChain } from './chain/run-chain.js';
export type { ChainOptions, ChainResult, Step, StepResult } from './chain/step.js';
export { applyWrite, type WriteOptions } from './package-files/apply-write.js';
export { PACKAGE_LIMITS, type PackageLimits } from './package-files/limits.js';
export {
  KPTFILE,
  type PackageFile,
  type PackageFiles,
  type SkippedFile,
} from './package-files/package-file.js';
export { formatFiles, planWrite } from './package-files/plan-write.js';
export { type Package, readPackage } from './package-files/read-package.js';
export { recoverPackage } from './package-files/recover-package.js';
export { listPackage } from './package-files/walk-package.js';
export { writeFolder } from './package-files/write-folder.js';
export type { FileChange, PlannedWrite, WritePlan } from './package-files/write-plan.js';
export { type DecodedList, decodeResourceList } from './resource-list/decode.js';
export { decodeText } from './resource-list/decode-text.js';
export {
  type EncodeOptions,
  encodeResourceList,
  RESOURCE_LIST_VERSIONS,
  type ResourceListVersion,
} from './resource-list/encode.js';
export { FILE_FORMATS, type FileFormat } from './resource-list/file-formats.js';
export type { ResourceIdentity, ResourcePlace } from './resource-list/identity.js';
export { selectedIdentity } from './resource-list/item-text.js';
export { readResources } from './resource-list/read-resources.js';
export { requireResources } from './resource-list/require-resources.js';
export { Resource, resourceProblem } from './resource-list/resource.js';
