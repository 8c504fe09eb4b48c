import { KrmhubError } from '@krmhub/schema/error';
import { expect, it } from 'vitest';
import { aboutFunction } from './plan-functions.js';

const PLACE = { position: 'app/fn.yaml:3', name: 'example.com/v1 SetLabels' };

it.each([
  [
    'cannot run example.com/v1 SetLabels: it requires mounts, and you did not allow it',
    'app/fn.yaml:3: cannot run example.com/v1 SetLabels: it requires mounts, and you did not allow it',
  ],
  [
    'cannot run docker.example.com/set: docker is not running',
    'app/fn.yaml:3: example.com/v1 SetLabels: cannot run docker.example.com/set: docker is not running',
  ],
])('names the function once: %s', (message, expected) => {
  const cause = new KrmhubError('untrusted', message, { hint: 'Add: --mount' });
  const about = aboutFunction(PLACE, cause);
  expect(about).toMatchObject({ code: 'untrusted', message: expected, hint: 'Add: --mount', cause });
});

it('leaves other errors as they are', () => {
  const error = new TypeError('cannot run example.com/v1 SetLabels');
  expect(aboutFunction(PLACE, error)).toBe(error);
});
