/**
 * Reads YAML and JSON documents within limits, and reports problems with their positions.
 *
 * @module
 */

export { type CodeEntry, VALUE_CODES, YAML_CODES, type YamlCode } from './codes.js';
export { exactIntegers } from './exact-integers.js';
export type { ReadOptions } from './open-text.js';
export { NotClean, readCleanYaml } from './read-clean-yaml.js';
export { readMachineYaml } from './read-machine-yaml.js';
export { readYaml, type YamlDocument } from './read-yaml.js';
