/**
 * YAML that is passed on: read, compared, and written without deciding what its scalars mean.
 *
 * `edit.ts` is not exported here because it needs another library.
 *
 * @module
 */

export { indentLastQuotes } from './last-quotes.js';
export { LOSSLESS_LIMITS, readYamlTree, readYamlTrees } from './read.js';
export { spliceYaml } from './splice.js';
export * from './tree.js';
export { writeYamlTree } from './write.js';
