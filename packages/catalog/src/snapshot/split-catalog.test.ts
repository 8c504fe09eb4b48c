import type { FunctionDefinition } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { functionDefinition, functionVersion } from '../testing/records.js';
import { sharedImageRelease, splitCatalog } from './split-catalog.js';

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

describe('the release that images share', () => {
  const digest = `@sha256:${'a'.repeat(64)}`;
  const withImages = (...images: (string | undefined)[]): FunctionDefinition =>
    functionDefinition({
      versions: images.map((image, index) =>
        functionVersion(`v${index + 1}`, {
          runtime:
            image === undefined ? { starlark: 'https://example.com/x.star' } : { container: { image } },
        }),
      ),
    });

  it.each([
    [['example.com/a:v1.2.3'], '1.2.3'],
    [['example.com:5000/a:v0.3'], '0.3.0'],
    [[`example.com:5000/a:1.2.3-rc.1${digest}`], '1.2.3-rc.1'],
    [['example.com/a:v1.2.0', 'example.com/b:1.2'], '1.2.0'],
    [['example.com/a:v1.2.0', undefined], '1.2.0'],
    [['example.com/a:v1.2.0', 'example.com/a:v1.2.1'], undefined],
    [['example.com/a:v1.2.0', 'example.com/a'], undefined],
    [['example.com:5000/a'], undefined],
    [[`example.com/a${digest}`], undefined],
    [['example.com/a:latest'], undefined],
    [['example.com/a:v1'], undefined],
    [['example.com/a:20240101'], undefined],
    [['NOT AN IMAGE:v1.2.3'], undefined],
    [[undefined], undefined],
  ])('of %j is %s', (images, release) => {
    expect(sharedImageRelease(withImages(...images))).toBe(release);
  });
});
