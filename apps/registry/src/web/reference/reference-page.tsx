import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { Description } from './description.js';
import { type ApiDocument, operationsByTag } from './openapi-model.js';
import { Operation, operationId } from './operation-view.js';
import { SchemaFields, schemaId } from './schema-view.js';

/** The HTTP API for people: every operation and schema of the OpenAPI document. */
export function ReferencePage({ document }: { document: ApiDocument }) {
  const { at } = useSite();
  const groups = [...operationsByTag(document)];
  const schemas = Object.entries(document.components.schemas);
  return (
    <div class="reference">
      <h1>HTTP API</h1>
      <p class="lead">
        <Text value={document.info.description ?? ''} />
      </p>
      <p>
        This page shows the <a href={at('/openapi.json')}>OpenAPI 3.1 document</a>. Reads need no token.
        Failures are <code>application/problem+json</code> (RFC 9457).
      </p>
      <div class="reference-columns">
        <nav class="reference-nav" aria-label="Operations">
          {groups.map(([tag, operations]) => (
            <>
              <p>
                <a href={`#tag-${tag}`}>{title(tag)}</a>
              </p>
              <ul>
                {operations.map((operation) => (
                  <li>
                    <a href={`#${operationId(operation)}`}>
                      <Text value={operation.summary ?? operation.operationId} max={80} />
                    </a>
                  </li>
                ))}
              </ul>
            </>
          ))}
          <p>
            <a href="#schemas">Schemas</a>
          </p>
        </nav>
        <div class="reference-main">
          {groups.map(([tag, operations]) => (
            <section aria-labelledby={`tag-${tag}`}>
              <h2 id={`tag-${tag}`}>{title(tag)}</h2>
              {operations.map((operation) => (
                <Operation operation={operation} document={document} />
              ))}
            </section>
          ))}
          <section aria-labelledby="schemas">
            <h2 id="schemas">Schemas</h2>
            {schemas.map(([name, schema]) => (
              <details class="operation" id={schemaId(name)}>
                <summary>
                  <code>{name}</code>
                </summary>
                <Description text={schema.description} />
                <SchemaFields schema={schema} document={document} />
              </details>
            ))}
          </section>
        </div>
      </div>
    </div>
  );
}

function title(tag: string): string {
  return tag.slice(0, 1).toUpperCase() + tag.slice(1);
}
