import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { functionDefinition } from '../testing/records.js';
import { splitCatalog } from './split-catalog.js';

describe('a catalog’s definitions', () => {
  const logger = functionDefinition({ names: { kind: 'Logger' } });

  it('are returned in catalog order', () => {
    const parts = splitCatalog({ name: 'example-co', functions: [logger, functionDefinition()] });
    expect(parts.map(({ definition }) => definition.names.kind)).toEqual(['Logger', 'SetLabels']);
    for (const { definition, bytes } of parts) {
      expect(parse(new TextDecoder().decode(bytes))).toEqual({
        apiVersion: 'config.kubernetes.io/v1alpha1',
        kind: 'KRMFunctionDefinition',
        spec: definition,
      });
    }
  });

  it('are rejected if a function appears twice, also by case, with all duplicates listed', () => {
    const twice = [
      logger,
      functionDefinition({ names: { kind: 'logger' } }),
      functionDefinition(),
      functionDefinition(),
    ];
    expect(() => splitCatalog({ name: 'x', functions: twice })).toThrow(
      /example\.com\/Logger and example\.com\/logger, example\.com\/SetLabels$/,
    );
  });
});
