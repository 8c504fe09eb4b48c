import { expect, it } from 'vitest';
import { functionDefinition, functionVersion } from '../testing/records.js';
import { upstreamSearchDocument } from './displayed-release.js';
import { imageNames, tagInNames } from './image-repositories.js';

it('builds the search fields of an entry', () => {
  const definition = functionDefinition({
    tags: ['mutator', 'labels', 'mutator'],
    versions: [functionVersion('v1beta1'), functionVersion('v1', { license: 'MIT' })],
  });
  expect(upstreamSearchDocument(definition)).toEqual({
    group: 'example.com',
    kind: 'SetLabels',
    description: definition.description,
    publisher: definition.publisher,
    versions: ['v1', 'v1beta1'],
    tags: ['mutator', 'labels'],
    runtimes: ['container'],
    licenses: ['Apache-2.0', 'MIT'],
    network: false,
    storage: false,
    pinned: true,
    images: [
      'registry.example.com/functions/set-labels',
      expect.stringMatching(/^sha256:[a-f0-9]{64}$/),
      'registry.example.com/functions/set-labels:v1.0.0',
    ],
  });
});

it('finds the tag of the images of an entry in its names, unless they have several', () => {
  const tag = (...images: string[]) => {
    const versions = images.map((image, index) =>
      functionVersion(`v${index + 1}`, { runtime: { container: { image } } }),
    );
    return tagInNames(imageNames(functionDefinition({ versions })));
  };
  expect(tag('ghcr.io/a/b:v0.4')).toBe('v0.4');
  expect(tag('localhost:5000/b:1', 'localhost:5000/c:1')).toBe('1');
  expect(tag('b:v1')).toBe('v1');
  expect(tag('ghcr.io/a/b:v1', 'ghcr.io/a/b:v2')).toBeUndefined();
  expect(tag('localhost:5000/b', `ghcr.io/a/b@sha256:${'a'.repeat(64)}`)).toBeUndefined();
});

it('limits the search fields of an entry', () => {
  const long = 'x'.repeat(1_000_000);
  const document = upstreamSearchDocument(
    functionDefinition({
      description: `${'y'.repeat(9_999)}\u{1f34c}${long}`,
      publisher: long,
      tags: [long, ...Array.from({ length: 1_000 }, (_, at) => `t${at}`)],
      versions: [functionVersion('v1', { license: long }), functionVersion('v2', { license: 'MIT' })],
    }),
  );
  expect(document.description).toBe('y'.repeat(9_999));
  expect(document.publisher).toHaveLength(500);
  expect(document.tags).toHaveLength(50);
  expect(document.tags[0]).toBe('t0');
  expect(document.licenses).toEqual(['MIT']);
});
