/**
 * Reads, changes, and writes Kubernetes resources with the bytes that kyaml writes.
 *
 * Comments, styles, and the order of fields stay. Resources that krmhub itself only reads use the parent module; changes
 * of a file that keep all other text use `edit`, which is not loaded with this.
 */

export { equalValue } from './edit/equal-value.js';
export { copyComments } from './nodes/copy-comments.js';
export { expandAliases } from './nodes/expand-aliases.js';
export {
  annotation,
  annotations,
  field,
  fieldAt,
  fieldNames,
  isNull,
  mapField,
  type ResourceIdentity,
  removeAnnotation,
  removeEmptyAnnotations,
  removeField,
  resourceIdentity,
  scalarText,
  setAnnotation,
  setField,
  setFirstField,
  textNode,
} from './nodes/fields.js';
export { fromJson, toJson } from './nodes/json.js';
export { documentRoot, ResourceNode, type ResourceNodeKind, STYLE, TEXT_STYLES } from './nodes/node.js';
export { syncOrder } from './nodes/sync-order.js';
export {
  type ResourceDocument,
  type ResourceListNode,
  readDocument,
  readResourceList,
  readResources,
  readTrees,
  splitDocuments,
  type TextPart,
} from './parse/read-resources.js';
export type { SequenceIndent } from './write/document-writer.js';
export { writeGoYaml } from './write/write-go-yaml.js';
export { writeDocument, writeResourceList } from './write/write-resources.js';
