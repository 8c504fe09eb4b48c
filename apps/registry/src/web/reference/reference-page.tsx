import type { Child } from 'hono/jsx';
import { apiPath } from '../addresses.js';
import { Reference, Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { Description } from './description.js';
import type { ApiDocument } from './openapi-model.js';
import { Operation, OperationName, operationId } from './operation-view.js';
import { type ReferencePart, referenceParts, SchemaParts } from './reference-parts.js';
import { SchemaFields, schemaId } from './schema-view.js';

/** The HTTP API for people, from the OpenAPI document: the list of all operations and schemas, or a part in detail. */
export function ReferencePage({ document, part: name }: { document: ApiDocument; part: string }) {
  const { at } = useSite();
  const parts = referenceParts(document);
  const part = parts.find((one) => one.name === name);
  const places = new Map(parts.flatMap((one) => one.schemas.map((schema) => [schema, one.name] as const)));
  return (
    <div class="reference">
      <h1>{part === undefined ? 'HTTP API' : `HTTP API: ${part.title.toLowerCase()}`}</h1>
      <div class="reference-columns">
        <nav class="reference-nav" aria-label="HTTP API">
          {[{ name: '', title: 'Overview' }, ...parts].map((one) => (
            <p>
              <a href={at(apiPath(one.name))} aria-current={one.name === name ? 'page' : undefined}>
                {one.title}
              </a>
            </p>
          ))}
        </nav>
        <div class="reference-main">
          <SchemaParts.Provider value={places}>
            {part === undefined ? (
              <Overview document={document} parts={parts} />
            ) : (
              <Part document={document} part={part} />
            )}
          </SchemaParts.Provider>
        </div>
      </div>
    </div>
  );
}

/** Every operation and schema. Their fragments are those of a page that once had all details. */
function Overview({ document, parts }: { document: ApiDocument; parts: readonly ReferencePart[] }) {
  const { at } = useSite();
  return (
    <>
      <p class="lead">
        <Text value={document.info.description ?? ''} />
      </p>
      <p>
        These pages show the <a href={at('/openapi.json')}>OpenAPI 3.1 document</a>. Reads need no token.
        Failures are <code>application/problem+json</code> (RFC 9457).
      </p>
      {parts.map(({ name, title, operations, schemas }) => (
        <section aria-labelledby={`tag-${name}`}>
          <h2 id={`tag-${name}`}>{title}</h2>
          {operations.length === 0 ? null : (
            <ul class="operations">
              {operations.map((operation) => (
                <li>
                  <OperationName operation={operation}>
                    <Moved part={name} id={operationId(operation)}>
                      <code>
                        <Reference value={operation.path} />
                      </code>
                    </Moved>
                  </OperationName>
                </li>
              ))}
            </ul>
          )}
          {operations.length === 0 || schemas.length === 0 ? null : <h3>Schemas</h3>}
          {schemas.length === 0 ? null : (
            <ul class="tags">
              {schemas.map((schema) => (
                <li>
                  <Moved part={name} id={schemaId(schema)}>
                    <code>{schema}</code>
                  </Moved>
                </li>
              ))}
            </ul>
          )}
        </section>
      ))}
    </>
  );
}

/** A link to something that had its details here once: the script follows an address with its fragment. */
function Moved({ part, id, children }: { part: string; id: string; children: Child }) {
  const { at } = useSite();
  return (
    <a href={at(apiPath(part, id))} id={id} data-moved="">
      {children}
    </a>
  );
}

function Part({ document, part: { operations, schemas } }: { document: ApiDocument; part: ReferencePart }) {
  return (
    <>
      {operations.map((operation) => (
        <Operation operation={operation} document={document} />
      ))}
      {operations.length === 0 || schemas.length === 0 ? null : <h2>Schemas</h2>}
      {schemas.map((name) => (
        <details class="operation" id={schemaId(name)}>
          <summary>
            <code>{name}</code>
          </summary>
          <Description text={document.components.schemas[name]!.description} />
          <SchemaFields schema={document.components.schemas[name]!} document={document} />
        </details>
      ))}
    </>
  );
}
