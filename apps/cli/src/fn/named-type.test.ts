import { expect, it } from 'vitest';
import { namedType } from './named-type.js';

const list = async () => [
  { apiVersion: 'example.com/v1', kind: 'SetOwner' },
  { apiVersion: 'example.com/v1', kind: 'SetLabels' },
  { apiVersion: 'example.com/v1alpha1', kind: 'SetLabels' },
  { apiVersion: 'example.com.example.org/v2', kind: 'SetOwner' },
];

it('reads a type, also where no catalog has it', async () => {
  const read = await namedType('example.com/v9/Other', () => Promise.reject(new Error('not needed')));
  expect(read).toEqual({ apiVersion: 'example.com/v9', kind: 'Other' });
});

it('finds the API version of a function that has one', async () => {
  expect(await namedType('example.com/SetOwner', list)).toEqual({
    apiVersion: 'example.com/v1',
    kind: 'SetOwner',
  });
});

it('names the API versions of a function that has several', async () => {
  await expect(namedType('example.com/SetLabels', list)).rejects.toMatchObject({
    code: 'usage',
    message: '"example.com/SetLabels" has 2 API versions',
    hint: 'Use one of: example.com/v1/SetLabels, example.com/v1alpha1/SetLabels',
  });
});

it.each(['SetOwner', 'example.com/Other', 'example.com/v1/SetOwner/x', 'example.com/', 'v1/SetOwner', ''])(
  'refuses %j',
  async (text) => {
    await expect(namedType(text, list)).rejects.toMatchObject({ code: 'usage' });
  },
);
