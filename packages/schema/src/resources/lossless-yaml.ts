import * as yaml from '@krmhub/yaml/lossless/index';
import { expected } from './expected.js';

/** YAML that is passed on, with the errors of krmhub. */
export * from '@krmhub/yaml/lossless/index';

export const readYamlTree = expected(yaml.readYamlTree);
export const readYamlTrees = expected(yaml.readYamlTrees);
