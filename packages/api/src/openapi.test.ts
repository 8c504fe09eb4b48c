import { describe, expect, it } from 'vitest';
import { openApiDocument } from './openapi.js';
import { PATHS } from './paths.js';

interface Operation {
  operationId: string;
  summary: string;
  parameters?: { name: string; in: string; required?: boolean; schema: { type: string } }[];
  responses: Record<string, { content?: Record<string, { schema: { $ref?: string } }> }>;
  security?: unknown[];
}
const document = openApiDocument('https://krm.example.com') as {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown>; securitySchemes: Record<string, unknown> };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/**
 * What is sent is the authorization: the leaked token, that of a provider, and what a user allows on a page. The last
 * one only reads.
 */
const OPEN_CHANGES = [
  ...['reportLeakedToken', 'exchangeToken', 'requestLogin', 'getLoginToken'],
  'catalogReleases',
];

describe('openApiDocument', () => {
  it('is OpenAPI 3.1 and contains exactly the paths of client and server', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.servers).toEqual([{ url: 'https://krm.example.com' }]);
    expect(Object.keys(document.paths).sort()).toEqual(Object.values(PATHS).sort());
  });

  it('gives each operation a unique ID, a summary and the parameters of its path', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations) {
      expect(operation.summary, operation.operationId).toMatch(/^[A-Z]/);
      const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path').map(({ name }) => name);
      expect(inPath.sort(), path).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort());
    }
  });

  it('gives every parameter a plain JSON type', () => {
    for (const { operation } of operations) {
      for (const { name, schema } of operation.parameters ?? []) {
        expect(schema.type, `${operation.operationId} ${name}`).toMatch(/^(string|integer|boolean|array)$/);
      }
    }
    const search = document.paths[PATHS.functions]?.get?.parameters ?? [];
    expect(search.find(({ name }) => name === 'limit')?.schema).toMatchObject({
      type: 'integer',
      default: 20,
    });
    expect(search.find(({ name }) => name === 'tag')?.schema).toMatchObject({ type: 'array' });
  });

  it('requires a token for all operations except reads', () => {
    const open = operations.filter(
      ({ operation: { security, operationId } }) =>
        security === undefined && !OPEN_CHANGES.includes(operationId),
    );
    expect(open.map(({ method }) => method)).toEqual(open.map(() => 'get'));
    expect(document.components.securitySchemes).toHaveProperty('bearer');
  });

  it('references existing schemas only', () => {
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(20);
    for (const [, name = ''] of references) expect(document.components.schemas).toHaveProperty(name);
  });

  it('describes errors as problem documents', () => {
    const publish = document.paths[PATHS.release]?.put;
    for (const status of ['400', '401', '403', '409', '413', '415', '422', '503', 'default']) {
      expect(publish?.responses[status]?.content?.['application/problem+json']?.schema.$ref, status).toBe(
        '#/components/schemas/Problem',
      );
    }
  });
});
