import { expect, it } from 'vitest';
import { functionDefinition, functionVersion } from '../testing/records.js';
import { upstreamSearchDocument } from './displayed-release.js';

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
    images: ['registry.example.com/functions/set-labels', expect.stringMatching(/^sha256:[a-f0-9]{64}$/)],
  });
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
