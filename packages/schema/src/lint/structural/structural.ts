/**
 * Lint rules for the schemas of functionConfigs, which must be structural as in Kubernetes.
 *
 * @module
 */

import { listVersions, objectField } from '../../json/access.js';
import { PatternSet } from '../../json-schema/pattern-set.js';
import type { Rule } from '../rule.js';
import { defaults, MAX_DEFAULT_STEPS } from './defaults.js';
import { descriptions } from './descriptions.js';
import { extensions } from './extensions.js';
import { junctors } from './junctors.js';
import { keywords } from './keywords.js';
import type { CheckState, SchemaCheck } from './nodes.js';
import { MAX_SCHEMA_NODES, schemaNodes } from './nodes.js';
import { patterns } from './patterns.js';
import { rules } from './rules.js';
import { structure } from './structure.js';
import { values } from './values.js';

const CHECKS: readonly SchemaCheck[] = [
  keywords,
  structure,
  junctors,
  extensions,
  values,
  patterns,
  rules,
  defaults,
  descriptions,
];

/** Checks that the openAPIV3Schema of each API version is a structural schema, as in a CustomResourceDefinition. */
export const structural: Rule = (draft, report) => {
  const state: CheckState = { patterns: new PatternSet(), steps: { left: MAX_DEFAULT_STEPS } };
  for (const { version, path } of listVersions(draft.spec)) {
    const root = objectField(objectField(version, 'schema'), 'openAPIV3Schema');
    if (root === undefined) continue;
    const at = [...path, 'schema', 'openAPIV3Schema'];
    const { nodes, complete } = schemaNodes(root, at);
    if (!complete) {
      const message = `the schema has more than ${MAX_SCHEMA_NODES} parts; the rest is not checked`;
      report('schema/too-large', at, message, { target: 'key' });
    }
    for (const check of CHECKS) check(nodes, report, state);
  }
};
