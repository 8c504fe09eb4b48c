import { expect, it } from 'vitest';
import type { FunctionPreview } from './preview-report.js';
import { previewTitle } from './preview-title.js';

function changed(kind: string, name: 'upgraded' | 'downgraded'): FunctionPreview {
  const weight = name === 'downgraded' ? 'review' : 'quiet';
  return {
    type: 'changed',
    apiVersion: 'example.com/v1',
    kind,
    catalog: 'c',
    before: '1.0.0',
    after: name === 'downgraded' ? '0.9.0' : '1.1.0',
    changes: [{ class: name, weight, function: `example.com/${kind}`, message: 'the release changed' }],
    isPartial: false,
    permissions: {},
  } as unknown as FunctionPreview;
}
const [up, down] = [changed('SetA', 'upgraded'), changed('SetB', 'downgraded')];
const image = (name: 'upgraded' | 'downgraded') => ({
  type: 'changed' as const,
  image: 'ghcr.io/example/set-c:~1',
  beforeTag: 'v1.1.0',
  afterTag: 'v1.0.0',
  class: name,
});

it.each([
  [[up], [], 'Upgrade SetA from 1.0.0 to 1.1.0'],
  [[down], [], 'Downgrade SetB from 1.0.0 to 0.9.0'],
  [[up, up], [], 'Upgrade 2 functions of app'],
  [[up, down], [], 'Change 2 functions of app'],
  [[down], [image('downgraded')], 'Downgrade 2 functions of app'],
  [[], [image('downgraded')], 'Downgrade ghcr.io/example/set-c from v1.1.0 to v1.0.0'],
  [[], [], 'Update the lock of app'],
])('says whether functions are upgraded or downgraded: %#', (functions, images, title) => {
  expect(previewTitle('app', functions, images)).toBe(title);
});
