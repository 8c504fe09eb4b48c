/**
 * Reads, changes, and writes Kubernetes resources with the bytes that kyaml writes.
 *
 * Comments, styles, and the order of fields stay. Resources that krmhub itself only reads use the parent module.
 *
 * @module
 */

export { copyComments } from './copy-comments.js';
export {
  annotation,
  annotations,
  field,
  fieldAt,
  isNull,
  type ResourceIdentity,
  removeAnnotation,
  removeEmptyAnnotations,
  removeField,
  resourceIdentity,
  scalarText,
  setAnnotation,
  setField,
  textNode,
} from './fields.js';
export { fromJson, toJson } from './json.js';
export { documentRoot, ResourceNode, type ResourceNodeKind, STYLE } from './node.js';
export {
  type ResourceDocument,
  type ResourceListNode,
  readDocument,
  readResourceList,
  readResources,
} from './read.js';
export { syncOrder } from './sync-order.js';
export type { SequenceIndent } from './write.js';
export { writeDocument, writeDocuments, writeResourceList } from './write-resources.js';
