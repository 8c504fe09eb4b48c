/**
 * Reads YAML and JSON documents within limits, and reports problems with their positions.
 *
 * @module
 */

export { type CodeEntry, VALUE_CODES, YAML_CODES, type YamlCode } from './read/codes.js';
export { exactIntegers } from './read/exact-integers.js';
export type { ReadOptions } from './read/open-text.js';
export { readMachineYaml } from './read/read-machine-yaml.js';
export { readYaml, type YamlDocument } from './read/read-yaml.js';
