import { type ConfigDescription, type ConfigField, type ConfigRule, FURTHER_RULES } from '@krmhub/schema';
import { Label } from '../parts/label.js';
import { Text } from '../parts/text.js';

/** With at most so many fields, all are unfolded; with more, nested fields are folded. */
const OPEN_FIELDS = 40;
const MAX_OUTERMOST = 3;

/** Lists the fields of a functionConfig. Nested fields are folded, and each field has its own fragment. */
export function ConfigFields({ description, schema }: { description: ConfigDescription; schema: string }) {
  const { fields, rules, complete } = description;
  const isOpen = count(fields) <= OPEN_FIELDS;
  // Few fields are unfolded, because they are the content of the page.
  const isOutermostOpen = isOpen || fields.length <= MAX_OUTERMOST;
  return (
    <>
      {rules.length === 0 ? null : <Rules rules={rules} />}
      {fields.length > 0 ? (
        <FieldList
          fields={fields}
          leftOut={description.omitted}
          isOpen={isOutermostOpen}
          isInnerOpen={isOpen}
        />
      ) : (
        <p>
          {rules.length === 0
            ? 'It has no fields.'
            : 'The schema declares no fields. See the usage document for the configuration.'}
        </p>
      )}
      {complete ? null : (
        <p class="quiet">
          The schema is too large to show in full. See <a href={schema}>the complete schema</a>.
        </p>
      )}
    </>
  );
}

/** Whether the nested fields are unfolded, and those inside them. */
interface Unfolded {
  isOpen: boolean;
  isInnerOpen: boolean;
}

function FieldList({
  fields,
  leftOut,
  ...unfolded
}: Unfolded & { fields: readonly ConfigField[]; leftOut: number }) {
  return (
    <ul class="fields">
      {fields.map((field) => (
        <Field field={field} {...unfolded} />
      ))}
      {leftOut === 0 ? null : (
        <li class="quiet">
          {leftOut} more {leftOut === 1 ? 'field is' : 'fields are'} in the schema.
        </li>
      )}
    </ul>
  );
}

function Field({ field, isOpen, isInnerOpen }: Unfolded & { field: ConfigField }) {
  const { name, path, type, required, deprecated, nullable, description, default: fallback } = field;
  const id = fieldId(path);
  const inner = field.fields.length + field.omitted;
  return (
    <li id={id}>
      <p class="field-head">
        <a class="field-name" href={`#${encodeURIComponent(id)}`} title={path}>
          <code>
            <Text value={name === '' ? '""' : name} />
          </code>
        </a>{' '}
        <span class="field-type">
          <Text value={type} />
          {nullable ? ' or null' : ''}
        </span>{' '}
        {required ? <span class="field-required">required</span> : null}{' '}
        {deprecated ? <Label tone="warning">deprecated</Label> : null}
      </p>
      {description === undefined ? null : (
        <p class="field-text">
          <Text value={description} />
        </p>
      )}
      {fallback === undefined && field.rules.length === 0 ? null : (
        <Rules
          rules={[
            ...(fallback === undefined ? [] : [{ text: 'default', values: [fallback], more: 0 }]),
            ...field.rules,
          ]}
        />
      )}
      {field.elements.map(({ label: of, description: itemDescription, rules }) => (
        <div class="field-inside">
          {itemDescription === undefined ? null : (
            <p class="field-text">
              <em>{of}</em>: <Text value={itemDescription} />
            </p>
          )}
          <Rules rules={rules} of={of} />
        </div>
      ))}
      {inner === 0 ? null : (
        <details open={isOpen}>
          <summary>
            {inner} {inner === 1 ? 'field' : 'fields'}
          </summary>
          <FieldList
            fields={field.fields}
            leftOut={field.omitted}
            isOpen={isInnerOpen}
            isInnerOpen={isInnerOpen}
          />
        </details>
      )}
    </li>
  );
}

/** `of` says what the rules apply to, if not to the field itself. */
function Rules({ rules, of }: { rules: readonly ConfigRule[]; of?: string }) {
  if (rules.length === 0) return null;
  return (
    <ul class="rules">
      {rules.map(({ text: words, values, more }) => (
        <li class={words === FURTHER_RULES ? 'quiet' : undefined}>
          {of === undefined ? null : <em>{of} </em>}
          <Text value={words} />
          {values.map((value) => (
            <>
              {' '}
              <code>
                <Text value={value} />
              </code>
            </>
          ))}
          {more === 0 ? null : ` and ${more} more`}
        </li>
      ))}
    </ul>
  );
}

function count(fields: readonly ConfigField[]): number {
  return fields.reduce((sum, field) => sum + 1 + count(field.fields), 0);
}

/** An ID cannot contain white space; the encoding is unique for each path. */
export function fieldId(path: string): string {
  const written = path.replace(
    /[^\w.[\]<>"-]/gu,
    (character) => `~${character.codePointAt(0)!.toString(16)}~`,
  );
  return `field-${written}`;
}
