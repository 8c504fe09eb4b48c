import { ROUTES } from '@krmhub/api/routes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { exampleValue } from './example-value.js';
import type { ApiDocument } from './openapi-model.js';

let registry: TestRegistry;
let text: string;
let headers: Headers;
beforeAll(async () => {
  registry = await openTestRegistry();
  const response = await registry.request('/api', { headers: { Accept: 'text/html' } });
  expect(response.status).toBe(200);
  ({ headers } = response);
  text = await response.text();
});
afterAll(() => registry.close());

describe('the reference of the HTTP API', () => {
  it('shows every operation without JavaScript', () => {
    for (const { operationId, path } of Object.values(ROUTES)) {
      expect(text).toContain(`id="operation-${operationId}"`);
      expect(text).toContain(`<code>${path}</code>`);
    }
  });

  it('loads only files of the registry, and runs no inline script', () => {
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(text).not.toMatch(/<script(?! (?:type="module" )?src="\/assets)|\son\w+=|\sstyle=/);
    expect(text).toMatch(/src="\/assets\/[0-9a-f]{16}\/reference\.js"/);
  });

  it('has unique ids, and a target for each link', () => {
    const ids = [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!);
    expect(new Set(ids).size).toBe(ids.length);
    const links = [...text.matchAll(/\shref="#([^"]*)"/g)].map(([, id]) => id!);
    expect(links.length).toBeGreaterThan(Object.keys(ROUTES).length);
    for (const link of links) expect(ids).toContain(link);
  });

  it('has forms only for reads that need no token', () => {
    const tried = [...text.matchAll(/data-try="([^"]*)"/g)].map(([, path]) => path!);
    const reads = Object.values(ROUTES)
      .filter(({ method, ...route }) => method === 'get' && !('security' in route))
      .map(({ path }): string => path);
    expect(tried.sort()).toEqual(reads.sort());
  });

  it('responds to programs with the OpenAPI document at its own URL', async () => {
    const document = (await (await registry.request('/openapi.json')).json()) as ApiDocument;
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      expect(text).toContain(`id="schema-${name}"`);
      expect(JSON.stringify(exampleValue(schema, document)).length).toBeLessThan(100_000);
    }
  });
});

describe('an example', () => {
  const document = {
    info: {},
    paths: {},
    components: {
      schemas: { Loop: { type: 'object', properties: { next: { $ref: '#/components/schemas/Loop' } } } },
    },
  } satisfies ApiDocument;

  it.each([
    [{ type: 'string', example: 'a', default: 'b' }, 'a'],
    [{ type: 'integer', default: 20 }, 20],
    [{ enum: ['x', 'y'] }, 'x'],
    [{ type: 'array', items: { type: 'boolean' } }, [true]],
    [{ type: 'string', format: 'date-time' }, '2026-01-31T12:00:00.000Z'],
    [{ anyOf: [{ type: 'null' }, { type: 'string' }] }, null],
  ])('of %j is %j', (schema, expected) => {
    expect(exampleValue(schema, document)).toEqual(expected);
  });

  it('of a schema that contains itself ends', () => {
    expect(JSON.stringify(exampleValue({ $ref: '#/components/schemas/Loop' }, document)).length).toBeLessThan(
      200,
    );
  });
});
