import type { Child } from 'hono/jsx';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { Reference } from '../parts/text.js';
import { useSite } from '../site.js';
import { Description, TextWithCode } from './description.js';
import { exampleValue } from './example-value.js';
import type { ApiContent, ApiDocument, ApiParameter, NamedOperation } from './openapi-model.js';
import { SchemaFields, SchemaRules, SchemaType } from './schema-view.js';

/** Characters of an example that are shown; longer ones end with `…`. */
const MAX_EXAMPLE = 6_000;

export function operationId({ operationId: id }: NamedOperation): string {
  return `operation-${id}`;
}

/** The method, path, and summary of an operation. `children` is the path. */
export function OperationName({
  operation: { method, summary = '' },
  children,
}: {
  operation: NamedOperation;
  children?: Child;
}) {
  return (
    <>
      <span class={`method method-${method}`}>{method.toUpperCase()}</span> {children}{' '}
      <span class="quiet">
        <TextWithCode value={summary} />
      </span>
    </>
  );
}

/** One operation: parameters, body, responses, and a command. The script makes a form of GET operations. */
export function Operation({ operation, document }: { operation: NamedOperation; document: ApiDocument }) {
  const { method, path, description, security = [], parameters = [], requestBody } = operation;
  return (
    <details class="operation" id={operationId(operation)}>
      <summary>
        <OperationName operation={operation}>
          <code>
            <Reference value={path} />
          </code>
        </OperationName>
      </summary>
      <Description text={description} />
      {security.length === 0 ? null : (
        <p>
          Requires a token: <code>Authorization: Bearer krmhub_…</code>
        </p>
      )}
      {parameters.length === 0 ? null : <Parameters parameters={parameters} />}
      {method === 'get' && security.length === 0 ? <TryIt operation={operation} /> : null}
      {requestBody === undefined ? null : (
        <Contents title="Request body" content={requestBody.content} document={document} />
      )}
      <h3>Responses</h3>
      <Responses responses={operation.responses} />
      <Example operation={operation} document={document} />
      <h3>In a terminal</h3>
      <CopySnippet label={`${method.toUpperCase()} ${path} with curl`} code={curlCommand(operation)} />
    </details>
  );
}

const PROBLEM = 'application/problem+json';

/** The responses, then the failures, which all have the same body. */
function Responses({ responses }: Pick<NamedOperation, 'responses'>) {
  const all = Object.entries(responses);
  const failures = all.filter(([, { content }]) => content?.[PROBLEM] !== undefined);
  const successes = all.filter(([, { content }]) => content?.[PROBLEM] === undefined);
  const problem = failures[0]?.[1].content?.[PROBLEM]?.schema;
  return (
    <>
      {successes.length === 0 ? null : (
        <ul class="plain-list responses">
          {successes.map(([status, { description, content = {} }]) => (
            <li>
              <strong>{status}</strong> <TextWithCode value={description} />{' '}
              {Object.entries(content).map(([mediaType, { schema }]) => (
                <span class="quiet">
                  <code>{mediaType}</code> {schema === undefined ? null : <SchemaType schema={schema} />}{' '}
                </span>
              ))}
            </li>
          ))}
        </ul>
      )}
      {problem === undefined ? null : (
        <p class="quiet">
          Failures, as <code>{PROBLEM}</code> <SchemaType schema={problem} />:
        </p>
      )}
      {failures.length === 0 ? null : (
        <ul class="plain-list responses">
          {failures.map(([status, { description }]) => (
            <li>
              <strong>{status === 'default' ? 'other' : status}</strong> <TextWithCode value={description} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Parameters({ parameters }: { parameters: readonly ApiParameter[] }) {
  return (
    <>
      <h3>Parameters</h3>
      <ul class="fields">
        {parameters.map((parameter) => {
          const { name, in: place, required = false, description, schema } = parameter;
          const { description: _, ...rules } = schema;
          return (
            <li>
              <p class="field-head">
                <code class="field-name">{name}</code>{' '}
                <span class="field-type">
                  <SchemaType schema={schema} /> in the {place}
                </span>{' '}
                {required ? <span class="field-required">required</span> : null}
              </p>
              <Description text={description} />
              <SchemaRules schema={rules} />
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** A form that only the script shows. The script reads the path in `data-try` and the names of the inputs. */
function TryIt({ operation }: { operation: NamedOperation }) {
  const { at } = useSite();
  const { path, parameters = [] } = operation;
  return (
    <form
      class="try"
      hidden
      data-try={at(path)}
      aria-label={`Try GET ${path}`}
      autocomplete="off"
      spellcheck={false}
    >
      {parameters
        .filter(({ in: place }) => place !== 'header')
        .map(({ name, in: place, required = false, schema }) => {
          const { example = schema.items?.example } = schema;
          return (
            <p class="entry">
              <label>
                {name}
                <input
                  name={name}
                  data-place={place}
                  required={required}
                  value={place === 'path' && typeof example === 'string' ? example : ''}
                />
              </label>
            </p>
          );
        })}
      <button type="submit">Send</button>
      <output class="try-output" tabindex={-1} />
    </form>
  );
}

function Contents({
  title,
  content,
  document,
}: {
  title: string;
  content: ApiContent;
  document: ApiDocument;
}) {
  return (
    <>
      <h3>{title}</h3>
      {Object.entries(content).map(([mediaType, { schema }]) => (
        <>
          <p>
            <code>{mediaType}</code>
            {schema?.$ref === undefined ? null : (
              <>
                {': '}
                <SchemaType schema={schema} />
              </>
            )}
          </p>
          {schema === undefined || schema.$ref !== undefined ? null : (
            <>
              <Description text={schema.description} />
              {schema.properties === undefined ? null : <SchemaFields schema={schema} document={document} />}
            </>
          )}
        </>
      ))}
    </>
  );
}

/** An example of the first successful JSON response. */
function Example({ operation, document }: { operation: NamedOperation; document: ApiDocument }) {
  const [status, response] = Object.entries(operation.responses)[0] ?? [];
  const schema = response?.content?.['application/json']?.schema;
  if (status === undefined || schema === undefined) return null;
  const text = JSON.stringify(exampleValue(schema, document), undefined, 2);
  return (
    <>
      <h3>Example of a response</h3>
      <CopySnippet
        label={`Example of the response ${status} of ${operation.operationId}`}
        code={text.length <= MAX_EXAMPLE ? text : `${text.slice(0, MAX_EXAMPLE)}\n…`}
      />
    </>
  );
}

function curlCommand({ method, path, parameters = [], security = [], requestBody }: NamedOperation): Child {
  const filled = path.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const example = parameters.find((one) => one.name === name)?.schema.example;
    return typeof example === 'string' ? example : whole;
  });
  const [mediaType] = Object.keys(requestBody?.content ?? {});
  const options = [
    ...(method === 'get' ? [] : [`-X ${method.toUpperCase()}`]),
    ...(security.length === 0 ? [] : ['-H "Authorization: Bearer $KRMHUB_TOKEN"']),
    ...(mediaType === undefined ? [] : [`-H 'Content-Type: ${mediaType}' --data-binary @FILE`]),
  ];
  return (
    <>
      curl -sS {options.map((option) => `${option} `).join('')}'
      <RegistryAddress />
      {filled}'
    </>
  );
}
