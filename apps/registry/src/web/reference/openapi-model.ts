/** The parts of an OpenAPI 3.1 document that the reference shows. */

export const METHODS = ['get', 'put', 'post', 'delete'] as const;
export type Method = (typeof METHODS)[number];

export interface ApiDocument {
  info: { description?: string };
  paths: Readonly<Record<string, Partial<Record<Method, ApiOperation>>>>;
  components: { schemas: Readonly<Record<string, ApiSchema>> };
}

export interface ApiOperation {
  operationId: string;
  tags?: readonly string[];
  summary?: string;
  description?: string;
  security?: readonly unknown[];
  parameters?: readonly ApiParameter[];
  requestBody?: { required?: boolean; content: ApiContent };
  responses: Readonly<Record<string, { description: string; content?: ApiContent }>>;
}

export interface ApiParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: ApiSchema;
}

export type ApiContent = Readonly<Record<string, { schema?: ApiSchema }>>;

export interface ApiSchema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  format?: string;
  pattern?: string;
  example?: unknown;
  default?: unknown;
  enum?: readonly unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  properties?: Readonly<Record<string, ApiSchema>>;
  additionalProperties?: boolean | ApiSchema;
  required?: readonly string[];
  items?: ApiSchema;
  allOf?: readonly ApiSchema[];
  anyOf?: readonly ApiSchema[];
  oneOf?: readonly ApiSchema[];
}

/** An operation with its path and method. */
export interface NamedOperation extends ApiOperation {
  path: string;
  method: Method;
}

/** Returns the operations by their first tag, in the order of the document. */
export function operationsByTag({ paths }: ApiDocument): Map<string, NamedOperation[]> {
  const groups = new Map<string, NamedOperation[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of METHODS) {
      const operation = methods[method];
      if (operation === undefined) continue;
      const tag = operation.tags?.[0] ?? 'other';
      groups.set(tag, [...(groups.get(tag) ?? []), { ...operation, path, method }]);
    }
  }
  return groups;
}

/** Returns the name of a schema in `components`; undefined for an inline schema. */
export function referencedSchema({ $ref }: ApiSchema): string | undefined {
  return $ref?.replace(/^#\/components\/schemas\//, '');
}

/** Returns the names of the schemas that a part of the document refers to, and of those that these refer to. */
export function schemasIn(part: unknown, { components }: ApiDocument): Set<string> {
  const names = new Set<string>();
  const add = (value: unknown) =>
    JSON.stringify(value, (key, inner) => {
      if (key === '$ref') names.add(referencedSchema({ $ref: inner })!);
      return inner;
    });
  add(part);
  for (const name of names) add(components.schemas[name]);
  return names;
}

/** Fields of an object with those of the schemas that it extends. */
export interface ObjectFields {
  properties: Readonly<Record<string, ApiSchema>>;
  required: ReadonlySet<string>;
}

/** Merges the properties of an object schema with those of `allOf`. Undefined for other schemas. */
export function objectFields(schema: ApiSchema, document: ApiDocument): ObjectFields | undefined {
  const parts = [schema, ...(schema.allOf ?? [])].map((part) => {
    const name = part === schema ? undefined : referencedSchema(part);
    return name === undefined ? part : { ...document.components.schemas[name] };
  });
  const nested = parts.flatMap((part) => (part === schema ? [part] : [part, ...(part.allOf ?? [])]));
  if (nested.every(({ properties }) => properties === undefined)) return undefined;
  return {
    properties: Object.assign({}, ...nested.map(({ properties = {} }) => properties)),
    required: new Set(nested.flatMap(({ required = [] }) => required)),
  };
}
