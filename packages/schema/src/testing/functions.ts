/**
 * Definitions and values for tests.
 *
 * @module
 */

import type { FunctionDefinition, FunctionVersion } from '../documents/definition.js';

/** An API version of a function that runs an image, with every field that is required. */
export function functionVersion(name: string, overrides: Partial<FunctionVersion> = {}): FunctionVersion {
  return {
    name,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', description: 'What to do.' } },
      },
    },
    idempotent: true,
    runtime: {
      container: { image: 'registry.example.com/functions/set-labels:v1.0.0', sha256: 'a'.repeat(64) },
    },
    usage: 'https://example.com/set-labels/README.md',
    examples: ['https://example.com/set-labels/example.md'],
    license: 'Apache-2.0',
    ...overrides,
  };
}

/** A definition of one API version without errors. */
export function functionDefinition(overrides: Partial<FunctionDefinition> = {}): FunctionDefinition {
  return {
    group: 'example.com',
    names: { kind: 'SetLabels' },
    description: 'Sets labels on resources',
    publisher: 'Example Co',
    versions: [functionVersion('v1')],
    tags: ['mutator'],
    ...overrides,
  };
}
