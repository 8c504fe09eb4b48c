/**
 * Kubernetes resources in YAML, with the errors of krmhub.
 *
 * @module
 */

import * as yaml from '@krmhub/yaml/resources';
import { expected } from './expected.js';

export * from '@krmhub/yaml/resources';

export const expandAliases = expected(yaml.expandAliases);
export const readDocument = expected(yaml.readDocument);
export const readResourceList = expected(yaml.readResourceList);
export const readResources = expected(yaml.readResources);
export const readTrees = expected(yaml.readTrees);
export const toJson = expected(yaml.toJson);
