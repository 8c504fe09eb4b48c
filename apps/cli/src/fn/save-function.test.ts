import { readResources } from '@krmhub/functions/fn';
import { expect, it } from 'vitest';
import { saveFunction } from './save-function.js';

it('writes a list that was empty as a block', () => {
  const text =
    'apiVersion: kpt.dev/v1\nkind: Kptfile\npipeline:\n  mutators:\n    - exec: a\n  validators: []\n';
  const { resources } = saveFunction(readResources(text, { path: 'Kptfile' }), { exec: 'b' }, 'validator');
  expect(resources[0]!.text()).toBe(text.replace('validators: []', 'validators:\n    - exec: b'));
});
