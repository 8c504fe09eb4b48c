import { expect, it } from 'vitest';
import { breakablePieces } from './break-places.js';

it.each([
  ['functions.example.com/', ['functions.example.com/']],
  ['functions.platform.example.com/', ['functions.', 'platform.', 'example.', 'com/']],
  ['EnforceMandatoryLabelsOnPods', ['Enforce', 'Mandatory', 'Labels', 'OnPods']],
  [
    'registry.example.com/functions/set-labels:v2.0.0',
    ['registry.', 'example.', 'com/', 'functions/', 'set-labels:', 'v2.0.0'],
  ],
  ['KRMHUB_REQUESTS_PER_MINUTE', ['KRMHUB_', 'REQUESTS_', 'PER_', 'MINUTE']],
  ['fn.k8s.ab.io.cd.example.io/', ['fn.k8s.', 'ab.io.', 'cd.example.io/']],
  ['https://example.com/functions', ['https://example.', 'com/', 'functions']],
])('breaks a long name at its parts, and keeps a short one whole: %s', (name, pieces) => {
  expect(breakablePieces(name)).toEqual(pieces);
  expect(pieces.join('')).toBe(name);
});

it('breaks names that are longer than a column', () => {
  expect(breakablePieces('resourceFileRegexp', 13)).toEqual(['resource', 'File', 'Regexp']);
  expect(breakablePieces('configPath', 13)).toEqual(['configPath']);
});
