import { useContext } from 'hono/jsx';
import { apiPath } from '../addresses.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { Description } from './description.js';
import { type ApiDocument, type ApiSchema, objectFields, referencedSchema } from './openapi-model.js';
import { SchemaParts } from './reference-parts.js';

const MAX_VALUE = 200;

export function schemaId(name: string): string {
  return `schema-${name}`;
}

/** The type of a schema in one line, with links to named schemas. */
export function SchemaType({ schema }: { schema: ApiSchema }) {
  const { at } = useSite();
  const parts = useContext(SchemaParts);
  const name = referencedSchema(schema);
  if (name !== undefined) return <a href={at(apiPath(parts.get(name)!, schemaId(name)))}>{name}</a>;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    return choices.map((choice, index) => (
      <>
        {index === 0 ? '' : ' or '}
        <SchemaType schema={choice} />
      </>
    ));
  }
  if (schema.allOf?.length === 1) return <SchemaType schema={schema.allOf[0]!} />;
  if (schema.type === 'array') {
    return (
      <>
        list of <SchemaType schema={schema.items ?? {}} />
      </>
    );
  }
  if (typeof schema.additionalProperties === 'object' && hasKeys(schema.additionalProperties)) {
    return (
      <>
        map of <SchemaType schema={schema.additionalProperties} />
      </>
    );
  }
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? ['any']);
  return <>{`${types.join(' or ')}${schema.format === undefined ? '' : ` (${schema.format})`}`}</>;
}

function hasKeys(value: object): boolean {
  return Object.keys(value).length > 0;
}

/** Bounds, choices and the default of a value. */
export function SchemaRules({ schema }: { schema: ApiSchema }) {
  const { enum: choices = [], items, pattern, maxLength, minimum, maximum, example } = schema;
  const allowed = choices.length > 0 ? choices : (items?.enum ?? []);
  const rules: [string, readonly unknown[]][] = [
    ['one of', allowed],
    ['equal to', schema.const === undefined ? [] : [schema.const]],
    ['default', schema.default === undefined ? [] : [schema.default]],
    ['at least', minimum === undefined ? [] : [minimum]],
    ['at most', maximum === undefined ? [] : [maximum]],
    ['characters at most', maxLength === undefined ? [] : [maxLength]],
    ['pattern', pattern === undefined ? [] : [pattern]],
    ['example', example === undefined ? [] : [example]],
  ];
  const given = rules.filter(([, values]) => values.length > 0);
  if (given.length === 0) return null;
  return (
    <ul class="rules">
      {given.map(([label, values]) => (
        <li>
          {label}
          {values.map((value) => (
            <>
              {' '}
              <code>
                <Text value={typeof value === 'string' ? value : JSON.stringify(value)} max={MAX_VALUE} />
              </code>
            </>
          ))}
        </li>
      ))}
    </ul>
  );
}

/** The fields of an object. Fields of objects inside it follow each field. */
export function SchemaFields({ schema, document }: { schema: ApiSchema; document: ApiDocument }) {
  const fields = objectFields(schema, document);
  if (fields === undefined || !hasKeys(fields.properties)) {
    return (
      <p>
        <SchemaType schema={schema} />
      </p>
    );
  }
  return (
    <ul class="fields">
      {Object.entries(fields.properties).map(([name, field]) => {
        const inner = innerObject(field);
        return (
          <li>
            <p class="field-head">
              <code class="field-name">{name}</code>{' '}
              <span class="field-type">
                <SchemaType schema={field} />
              </span>{' '}
              {fields.required.has(name) ? <span class="field-required">required</span> : null}
            </p>
            <Description text={field.description} />
            <SchemaRules schema={field} />
            {inner === undefined ? null : <SchemaFields schema={inner} document={document} />}
          </li>
        );
      })}
    </ul>
  );
}

/** Returns the object without a name in a field, in its list, or in its map. */
function innerObject(field: ApiSchema): ApiSchema | undefined {
  const inner =
    field.items ?? (typeof field.additionalProperties === 'object' ? field.additionalProperties : field);
  return inner.$ref === undefined && inner.properties !== undefined ? inner : undefined;
}
