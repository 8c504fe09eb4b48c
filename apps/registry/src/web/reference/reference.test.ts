import { ROUTES } from '@krmhub/api/routes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { exampleValue } from './example-value.js';
import type { ApiDocument } from './openapi-model.js';

let registry: TestRegistry;
const pages = new Map<string, string>();
let headers: Headers;
const open = async (path: string) => {
  const response = await registry.request(path, { headers: { Accept: 'text/html' } });
  expect(response.status, path).toBe(200);
  ({ headers } = response);
  return response.text();
};
const idsOf = (text: string) => [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!);
beforeAll(async () => {
  registry = await openTestRegistry();
  const overview = await open('/api');
  pages.set('/api', overview);
  const parts = new Set([...overview.matchAll(/href="(\/api\/[^"#]+)"/g)].map(([, path]) => path!));
  for (const path of parts) pages.set(path, await open(path));
});
afterAll(() => registry.close());

describe('the reference of the HTTP API', () => {
  it('lists every operation, and shows it on the page of its tag, without JavaScript', () => {
    // Paths break after slashes.
    const read = (page: string) => pages.get(page)!.replaceAll(/<wbr\/>|<\/?bdi>/g, '');
    for (const { operationId, path, tags } of Object.values(ROUTES)) {
      const target = `/api/${tags[0]}#operation-${operationId}`;
      expect(read('/api')).toContain(
        `href="${target}" id="operation-${operationId}" data-moved=""><code>${path}<`,
      );
      const text = read(`/api/${tags[0]}`);
      expect(text).toContain(`<details class="operation" id="operation-${operationId}">`);
      expect(text).toContain(`<code>${path}</code>`);
    }
  });

  it('names the body of failures once for each operation, and shows code', () => {
    const page = pages.get('/api/catalogs')!;
    const operations = page.match(/<details class="operation" id="operation-/g)!.length;
    expect(page.match(/application\/problem\+json/g)).toHaveLength(operations);
    expect(page).toContain('(see </bdi><code><bdi>diagnostics</bdi></code><bdi>)');
    expect(pages.get('/api')).toContain('scope </bdi><code><bdi>audit</bdi></code>');
  });

  it('has no other part', async () => {
    for (const path of ['/api/v1', '/api/none', '/api/schemas/x']) {
      expect((await registry.request(path, { headers: { Accept: 'text/html' } })).status).toBe(404);
    }
  });

  it('loads only files of the registry, and runs no inline script', () => {
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
    for (const text of pages.values()) {
      expect(text).not.toMatch(/<script(?! (?:type="module" )?src="\/assets)|\son\w+=|\sstyle=/);
      expect(text).toMatch(/src="\/assets\/[0-9a-f]{16}\/reference\.js"/);
    }
  });

  it('has no empty list', () => {
    for (const [path, text] of pages) expect(text, path).not.toMatch(/<ul[^>]*><\/ul>/);
  });

  it('has unique ids, and a target for each link', () => {
    let links = 0;
    for (const [path, text] of pages) {
      expect(new Set(idsOf(text)).size, path).toBe(idsOf(text).length);
      for (const [, target, id] of text.matchAll(/\shref="(\/api[^"#]*)#([^"]*)"/g)) {
        expect(idsOf(pages.get(target!)!), `${target}#${id}`).toContain(id);
        links += 1;
      }
    }
    expect(links).toBeGreaterThan(Object.keys(ROUTES).length);
  });

  it('has forms only for reads that need no token', () => {
    const tried = [...[...pages.values()].join().matchAll(/data-try="([^"]*)"/g)].map(([, path]) => path!);
    const reads = Object.values(ROUTES)
      .filter(({ method, ...route }) => method === 'get' && !('security' in route))
      .map(({ path }): string => path);
    expect(tried.sort()).toEqual(reads.sort());
  });

  it('responds to programs with the OpenAPI document at its own URL', async () => {
    const document = (await (await registry.request('/openapi.json')).json()) as ApiDocument;
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const shown = `<details class="operation" id="schema-${name}">`;
      expect([...pages.values()].filter((text) => text.includes(shown))).toHaveLength(1);
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
