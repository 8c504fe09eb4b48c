/** The one gateway through which YAML and JSON text becomes values. */
export { readYaml, type YamlDocument } from './yaml/author.js';
export { type CodeEntry, YAML_CODES, type YamlCode } from './yaml/codes.js';
export { readMachineYaml } from './yaml/machine.js';
export type { ReadOptions } from './yaml/text.js';
