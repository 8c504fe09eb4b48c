import { z } from '@hono/zod-openapi';
import * as documents from './document-model.js';
import * as exported from './export-model.js';
import * as model from './model.js';
import type { ResponseSchema } from './response-schema.js';
import { ROUTES } from './routes.js';

type Content = Record<string, { schema?: unknown }>;

/** Schemas of single lines of a JSON Lines response, and of error responses. */
const OTHER_ROOTS = ['Problem', 'ExportedFunction', 'CatalogInputs', 'CatalogInputsEntry'];

/**
 * Returns the text of generated/response-schemas.ts: what the client checks of responses, taken from the schemas of the
 * routes. Only presence and JSON types remain, so that a client accepts values and fields of a newer registry.
 */
export function renderResponseSchemas(): string {
  const names = new Map<unknown, string>();
  const registry = z.registry<{ id: string }>();
  for (const [name, value] of Object.entries({ ...documents, ...exported, ...model })) {
    if (!(value instanceof z.ZodType)) continue;
    names.set(value, name);
    registry.add(value, { id: name });
  }
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => id,
    // What has a default is absent in responses of older registries.
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => keepTypes(jsonSchema),
  });
  const responses: Record<string, string> = {};
  for (const [route, { responses: byStatus }] of Object.entries(ROUTES)) {
    const name = successBody(byStatus, names);
    if (name !== undefined) responses[route] = name;
  }
  const reachable = new Set<string>();
  const visit = (name: string) => {
    if (reachable.has(name)) return;
    reachable.add(name);
    for (const [, inner = ''] of JSON.stringify(schemas[name]).matchAll(/"\$ref":"(\w+)"/g)) visit(inner);
  };
  for (const name of OTHER_ROOTS) visit(name);
  for (const name of Object.values(responses)) visit(name);
  return [
    '/**',
    ' * The fields and JSON types that the client checks in responses.',
    ' *',
    ' * Generated from the route contract by `npm run docs`. Do not edit.',
    ' *',
    ' * @module',
    ' */',
    '',
    '/** JSON Schemas by name; `$ref` is such a name. */',
    `export const SCHEMAS = {`,
    ...[...reachable].sort().map((name) => `  ${name}: ${schemaText(schemas[name] as ResponseSchema)},`),
    '};',
    '',
    '/** The name of the schema of the JSON that a route responds with on success. */',
    'export const RESPONSES = {',
    ...Object.entries(responses).map(([route, name]) => `  ${route}: '${name}',`),
    '};',
    '',
  ].join('\n');
}

/** Leaves the keywords that the client checks, and `anyOf`, which zod then makes a list of types. */
function keepTypes(schema: Record<string, unknown>): void {
  const kept = ['$ref', 'type', 'properties', 'required', 'items', 'anyOf'];
  for (const keyword of Object.keys(schema)) if (!kept.includes(keyword)) delete schema[keyword];
  if (schema.type === 'integer') schema.type = 'number';
}

/**
 * Returns the name of the schema of a route's JSON; undefined if it responds with something else, or with any object.
 */
function successBody(byStatus: object, names: ReadonlyMap<unknown, string>): string | undefined {
  const found = new Set<string>();
  for (const [status, { content }] of Object.entries(byStatus) as [string, { content?: Content }][]) {
    const name = names.get(content?.['application/json']?.schema);
    if (status.startsWith('2') && name !== undefined) found.add(name);
  }
  if (found.size > 1) throw new Error(`one route responds with ${[...found].join(' and ')}`);
  return [...found][0];
}

function schemaText({ $ref, type, properties, required = [], items }: ResponseSchema): string {
  if ($ref !== undefined) return `{ $ref: '${$ref}' }`;
  if (type === undefined) throw new Error('a response schema without a type: findMismatch has to support it');
  const parts = [`type: ${typeof type === 'string' ? `'${type}'` : list(type)}`];
  const fields = Object.entries(properties ?? {});
  if (fields.length > 0) {
    const texts = fields.map(
      ([name, inner]) => `${/^\w+$/.test(name) ? name : `'${name}'`}: ${schemaText(inner)}`,
    );
    parts.push(`properties: { ${texts.join(', ')} }`);
  }
  if (required.length > 0) parts.push(`required: ${list(required)}`);
  if (items !== undefined) parts.push(`items: ${schemaText(items)}`);
  return `{ ${parts.join(', ')} }`;
}

function list(texts: readonly string[]): string {
  return `[${texts.map((text) => `'${text}'`).join(', ')}]`;
}
