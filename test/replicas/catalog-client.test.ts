import type { FunctionDefinition } from '@krmhub/schema';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderEntry } from '../../packages/catalog/src/render/render.js';
import { definition } from '../faults/workload.js';
import { releasesIn } from './catalog-client.js';

it('finds every release in a catalog, with and without quotes', () => {
  for (const remark of ['', 'other']) {
    const { spec } = parse(definition('Fn1', '1.2.0', remark)) as { spec: FunctionDefinition };
    expect(releasesIn(renderEntry(spec).yaml)).toEqual(['Fn1@1.2.0']);
  }
});
