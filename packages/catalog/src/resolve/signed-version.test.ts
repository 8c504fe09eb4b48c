import type { FunctionRuntime, FunctionVersion } from '@krmhub/schema';
import { expect, it } from 'vitest';
import { functionVersion } from '../testing/records.js';
import { unsignedField } from './signed-version.js';

const [A, B] = ['a'.repeat(64), 'b'.repeat(64)];
const at = (runtime: FunctionRuntime, more: Partial<FunctionVersion> = {}) =>
  functionVersion('v1', { runtime, ...more });
const image = (name: string, more: object = {}) => at({ container: { image: name, ...more } });
const exec = (uri: string, sha256?: string) =>
  at({
    exec: {
      platforms: [{ os: 'linux', arch: 'amd64', bin: 'f', uri, ...(sha256 === undefined ? {} : { sha256 }) }],
    },
  });

it.each([
  ['the same', image('a.io/f:v1'), image('a.io/f:v1')],
  ['an image at a mirror', image('mirror.io/f:v1', { sha256: A }), image('a.io/f:v1', { sha256: A })],
  ['a digest in another place', image(`mirror.io/f@sha256:${A}`), image('a.io/f:v1', { sha256: A })],
  ['a download at a mirror', exec('https://mirror.io/f', A), exec('https://a.io/f', A)],
  [
    'maintainers of the whole function',
    { ...image('a.io/f:v1'), maintainers: ['a@example.com'] },
    image('a.io/f:v1'),
  ],
])('takes %s', (_, entry, signed) => {
  expect(unsignedField(entry, signed)).toBeUndefined();
});

it.each([
  ['runtime', 'another digest', image('a.io/f', { sha256: A }), image('a.io/f', { sha256: B })],
  ['runtime', 'an unpinned image elsewhere', image('mirror.io/f:v1'), image('a.io/f:v1')],
  ['runtime', 'a digest that was dropped', image('a.io/f:v1'), image('a.io/f:v1', { sha256: A })],
  [
    'runtime',
    'the network',
    image('a.io/f', { sha256: A, requireNetwork: true }),
    image('a.io/f', { sha256: A }),
  ],
  ['runtime', 'another download', exec('https://a.io/f', A), exec('https://a.io/f', B)],
  [
    'runtime',
    'a runtime more',
    at({ starlark: 'oci://a.io/f:v1', container: { image: 'a.io/f' } }),
    image('a.io/f'),
  ],
  [
    'schema',
    'another schema',
    { ...image('a.io/f'), schema: { openAPIV3Schema: { type: 'object' } } },
    image('a.io/f'),
  ],
  ['configMap', 'a field more', { ...image('a.io/f'), configMap: true }, image('a.io/f')],
  ['name', 'another API version', { ...image('a.io/f'), name: 'v2' }, image('a.io/f')],
])('refuses in %s: %s', (field, _, entry, signed) => {
  expect(unsignedField(entry, signed)).toBe(field);
});
