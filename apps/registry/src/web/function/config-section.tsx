import { type ConfigDescription, type ConfigField, type ConfigRule, FURTHER_RULES } from '@krmhub/schema';
import { Label } from '../parts/label.js';
import { Text } from '../parts/text.js';

/** Fields up to which all of them are open; of more, those inside others are looked for. */
const OPEN_FIELDS = 40;
const MAX_OUTERMOST = 3;

/** The fields of a functionConfig, those inside others folded below them; each has an address of its own. */
export function ConfigFields({ description, schema }: { description: ConfigDescription; schema: string }) {
  const { fields, rules, complete } = description;
  const isOpen = count(fields) <= OPEN_FIELDS;
  // What stands alone is what one has come to see.
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
            : 'The schema declares no fields. See the usage for what to configure.'}
        </p>
      )}
      {complete ? null : (
        <p class="quiet">
          The schema is too large to show in full: <a href={schema}>the schema itself</a> has everything.
        </p>
      )}
    </>
  );
}

/** Whether what is inside the fields is unfolded, and whether what is further inside is. */
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
      {field.elements.map(({ label: of, description: said, rules }) => (
        <div class="field-inside">
          {said === undefined ? null : (
            <p class="field-text">
              <em>{of}</em>: <Text value={said} />
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

/** `of` is what they are of, where that is not the field itself. */
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

/** An id has no white space; what is written instead stands for one path only. */
export function fieldId(path: string): string {
  const written = path.replace(
    /[^\w.[\]<>"-]/gu,
    (character) => `~${character.codePointAt(0)!.toString(16)}~`,
  );
  return `field-${written}`;
}
