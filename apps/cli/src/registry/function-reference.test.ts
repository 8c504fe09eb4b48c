import { KrmhubError } from '@krmhub/schema/error';
import { describe, expect, it } from 'vitest';
import { parseFunctionReference, parseReleaseReference } from './function-reference.js';

describe('a reference to a function', () => {
  it.each([
    ['SetLabels', { kind: 'SetLabels' }],
    ['example.com/SetLabels', { group: 'example.com', kind: 'SetLabels' }],
    ['example.com/SetLabels@1.2.0', { group: 'example.com', kind: 'SetLabels', release: '1.2.0' }],
    ['SetLabels@v1.2', { kind: 'SetLabels', release: 'v1.2' }],
  ])('%s', (text, reference) => {
    expect(parseFunctionReference(text)).toEqual(reference);
  });

  it.each([
    '',
    '/',
    '@1.0.0',
    'example/SetLabels',
    'example.com/',
    'Example.com/K',
    'a.b/../c',
    'example.com/K@',
    'example.com/K@1.0.0+build',
    'example.com/K@latest',
    '-K',
  ])('%j is none', (text) => {
    expect(() => parseFunctionReference(text)).toThrow(KrmhubError);
  });

  it.each(['SetLabels', 'example.com/SetLabels'])('%s does not name one release', (text) => {
    expect(() => parseReleaseReference(text)).toThrow(/is not a release/);
  });
});
