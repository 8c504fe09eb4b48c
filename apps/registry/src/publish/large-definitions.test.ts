import type { Problem } from '@krmhub/api/model';
import { DOCUMENT_LIMITS } from '@krmhub/schema';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../testing/test-registry.js';
import { Planner } from './planner.js';

/** Megabytes that suffice to plan a definition just over the limit, but not one of a megabyte. */
const MEGABYTES = 24;

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry({ planner: new Planner({ megabytes: MEGABYTES }) });
});
afterEach(() => registry.close());

/** Returns a definition whose schema has fields up to this size in bytes. */
function largeText(kind: string, bytes: number): string {
  const [head, rest] = definitionText({ kind, release: '1.0.0' }).split('          labels:\n');
  const fields: string[] = [];
  for (let size = 0, number = 0; size < bytes; size += fields.at(-1)!.length, number++) {
    const group = number % 100 === 0 ? `          group${number}:\n            properties:\n` : '';
    fields.push(`${group}              field${number}: {type: string, description: Field ${number}.}\n`);
  }
  return `${head}${fields.join('')}          labels:\n${rest}`;
}

const publish = (kind: string, text: string) =>
  registry.send<Problem>('PUT', releasePath({ kind, release: '1.0.0' }), text);

it('refuses a definition that exhausts the memory, and keeps running', async () => {
  const exhausting = largeText('Exhausting', DOCUMENT_LIMITS.maxDefinitionBytes * 0.95);
  expect(exhausting.length).toBeLessThan(DOCUMENT_LIMITS.maxDefinitionBytes);
  const refused = publish('Exhausting', exhausting);
  expect((await registry.publish({ kind: 'Small', release: '1.0.0' })).status).toBe(201);
  const response = await refused;
  expect(response.status).toBe(400);
  expect(response.body).toMatchObject({
    code: 'invalid-request',
    detail: expect.stringContaining('too much time or memory'),
  });

  const large = await publish('Large', largeText('Large', SERVER_LIMITS.maxPlannedInlineBytes));
  expect(large.status, JSON.stringify(large.body)).toBe(201);
  expect((await registry.request('/api/v1/functions/example.com/Large')).status).toBe(200);
  expect((await registry.request('/api/v1/functions/example.com/Exhausting')).status).toBe(404);
});
