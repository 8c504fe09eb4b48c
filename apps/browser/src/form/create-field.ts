import { declaredFields, innerSchemas, valueType } from '@krmhub/schema/config-fields/schema-parts';
import { allowedValues } from './field-parts.js';
import type { FieldInput, FieldView } from './form-context.js';
import { ListView } from './list-view.js';
import { MapView } from './map-view.js';
import { ObjectView } from './object-view.js';
import { ScalarView } from './scalar-view.js';
import { TextOnlyView } from './text-only-view.js';

/** Levels of fields that a form has: the deepest are edited as text. */
const MAX_DEPTH = 16;

/** Creates the view for the type of a value. */
export function createField(input: FieldInput): FieldView {
  const { parts, path } = input;
  if (allowedValues(parts) !== undefined) return new ScalarView(input);
  if (path.length > MAX_DEPTH) return new TextOnlyView(input);
  const type = valueType(parts);
  switch (type) {
    case 'array': {
      const items = innerSchemas(parts, 'items');
      return items === undefined ? new TextOnlyView(input) : new ListView(input, items);
    }
    case 'object': {
      if (declaredFields(parts).size > 0) return new ObjectView(input);
      const values = innerSchemas(parts, 'additionalProperties');
      return values === undefined ? new TextOnlyView(input) : new MapView(input, values);
    }
    case 'any':
      return new TextOnlyView(input);
    default:
      return new ScalarView(input);
  }
}
