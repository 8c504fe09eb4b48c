import type { SchemaParts } from '@krmhub/schema/config-fields/schema-parts';
import type { JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import type { ConfigMessage } from '../config/edit-config.js';
import type { Budget } from './budget.js';

/** Sets the value at a path, or removes it. Resolves when the form shows the new text. */
export type Edit = (path: Path, value: JsonValue | undefined) => Promise<void>;

export interface FormContext {
  edit: Edit;
  budget: Budget;
  /** Creates the view for the type of a value. */
  createField(input: FieldInput): FieldView;
}

/** Messages by the path of their field. */
export type Problems = ReadonlyMap<string, readonly string[]>;

/** One value in the form. */
export interface FieldView {
  readonly element: HTMLElement;
  /** Shows the value in the text; undefined if it has none. */
  show(value: JsonValue | undefined, problems: Problems): void;
}

/** What a field is made from. */
export interface FieldInput {
  name: string;
  path: Path;
  parts: SchemaParts;
  isRequired: boolean;
  context: FormContext;
}

export function problemsByPath(problems: readonly ConfigMessage[]): Problems {
  const found = new Map<string, string[]>();
  for (const { path, message } of problems) found.set(path, [...(found.get(path) ?? []), message]);
  return found;
}
