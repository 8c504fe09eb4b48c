import { createContext } from 'hono/jsx';
import { API_SCHEMAS } from '../addresses.js';
import { type ApiDocument, type NamedOperation, operationsByTag, schemasIn } from './openapi-model.js';

/** A page of the reference: the operations of a tag with the schemas that only these use, or the schemas of several. */
export interface ReferencePart {
  /** In its address: the tag, or `schemas`. */
  name: string;
  title: string;
  operations: readonly NamedOperation[];
  schemas: readonly string[];
}

/** Returns the pages of the reference. Every operation and schema is on one of them. */
export function referenceParts(document: ApiDocument): ReferencePart[] {
  const tags = [...operationsByTag(document)].map(([name, operations]) => ({
    name,
    operations,
    used: schemasIn(operations, document),
  }));
  const all = Object.keys(document.components.schemas);
  const isOf = (schema: string, name: string) =>
    tags.every(({ used, ...tag }) => used.has(schema) === (tag.name === name));
  const parts = tags.map(({ name, operations }) => ({
    name,
    title: name.slice(0, 1).toUpperCase() + name.slice(1),
    operations,
    schemas: all.filter((schema) => isOf(schema, name)),
  }));
  const placed = new Set(parts.flatMap(({ schemas }) => schemas));
  const shared = all.filter((schema) => !placed.has(schema));
  return [...parts, { name: API_SCHEMAS, title: 'Shared schemas', operations: [], schemas: shared }];
}

/** The part of the reference that has a schema, by its name. */
export const SchemaParts = createContext<ReadonlyMap<string, string>>(new Map());
