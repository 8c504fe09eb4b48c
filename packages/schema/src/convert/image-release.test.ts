import { expect, it } from 'vitest';
import { sharedImageRelease } from './image-release.js';

const digest = `@sha256:${'a'.repeat(64)}`;

it.each([
  [['example.com/a:v1.2.3'], '1.2.3'],
  [['example.com:5000/a:v0.3'], '0.3.0'],
  [[`example.com:5000/a:1.2.3-rc.1${digest}`], '1.2.3-rc.1'],
  [['example.com/a:v1.2.0', 'example.com/b:1.2'], '1.2.0'],
  [['example.com/a:v1.2.0', 'example.com/a:v1.2.1'], undefined],
  [['example.com/a:v1.2.0', 'example.com/a'], undefined],
  [['example.com:5000/a'], undefined],
  [[`example.com/a${digest}`], undefined],
  [['example.com/a:latest'], undefined],
  [['example.com/a:v1'], undefined],
  [['example.com/a:20240101'], undefined],
  [['NOT AN IMAGE:v1.2.3'], undefined],
  [[], undefined],
])('the release of the images %j is %s', (images, release) => {
  expect(sharedImageRelease(images)).toBe(release);
});
