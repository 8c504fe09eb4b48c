import { expect, it } from 'vitest';
import { kebabCase } from './kebab-case.js';

it.each([
  ['SetLabels', 'set-labels'],
  ['HTTPRoute', 'http-route'],
  ['RenderHelmChartV2', 'render-helm-chart-v2'],
  ['already-kebab', 'already-kebab'],
])('%s is written %s in names of files', (kind, name) => {
  expect(kebabCase(kind)).toBe(name);
});
