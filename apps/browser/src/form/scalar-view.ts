import { type SchemaParts, valueType } from '@krmhub/schema/config-fields/schema-parts';
import type { JsonValue } from '@krmhub/schema/definition';
import { element, newId } from './dom.js';
import { allowedValues, FieldNotes, fieldTitle, firstKeyword, isScalar } from './field-parts.js';
import type { FieldInput, FieldView, Problems } from './form-context.js';

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Pause after a key before the text is edited. */
const PAUSE_MILLISECONDS = 250;

/** Text, a number, a boolean, or one of several values. */
export class ScalarView implements FieldView {
  readonly element: HTMLElement;
  readonly #input: FieldInput;
  readonly #notes: FieldNotes;
  readonly #kind: ScalarKind;
  #control: Control;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #value: JsonValue | undefined;
  /** Changes that the text does not have yet. */
  #edits = 0;

  constructor(input: FieldInput) {
    this.#input = input;
    this.#kind = scalarKind(input);
    this.#notes = new FieldNotes(input);
    const id = newId();
    const label = element('label', { attributes: { for: id } }, ...fieldTitle(input, this.#kind.title));
    this.#control = this.#prepare(this.#kind.create(), id);
    this.element = element('div', { class: 'try-field' }, label, this.#control, this.#notes.element);
  }

  show(value: JsonValue | undefined, problems: Problems): void {
    const isWrong = this.#notes.show(problems);
    this.#control.setAttribute('aria-invalid', String(isWrong));
    this.#value = value;
    this.#write();
  }

  /** What is being typed or edited is newer than what the text has. */
  #write(): void {
    if (this.#timer !== undefined || this.#edits > 0) return;
    const value = this.#value;
    if (typeof value === 'string' && value.includes('\n') && this.#control instanceof HTMLInputElement) {
      const area = this.#prepare(element('textarea', { attributes: { rows: '4' } }), this.#control.id);
      this.#control.replaceWith(area);
      this.#control = area;
    }
    this.#kind.write(this.#control, value);
  }

  #prepare<Own extends Control>(control: Own, id: string): Own {
    control.id = id;
    control.setAttribute('aria-describedby', this.#notes.id);
    if (this.#input.isRequired) control.setAttribute('aria-required', 'true');
    const isTyped = !(control instanceof HTMLSelectElement) && control.type !== 'checkbox';
    if (isTyped) control.addEventListener('input', () => this.#later());
    control.addEventListener('change', () => this.#now());
    return control;
  }

  #later(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#now(), PAUSE_MILLISECONDS);
  }

  #now(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { path, isRequired, context } = this.#input;
    const value = this.#kind.read(this.#control);
    this.#edits += 1;
    void context.edit(path, value ?? (isRequired ? this.#kind.empty : undefined)).finally(() => {
      this.#edits -= 1;
      this.#write();
    });
  }
}

/** How a type of value is shown and read. */
interface ScalarKind {
  title: string;
  create(): Control;
  write(control: Control, value: JsonValue | undefined): void;
  /** Undefined for no value. */
  read(control: Control): JsonValue | undefined;
  /** What a required field has instead of no value. */
  empty: JsonValue | undefined;
}

function scalarKind({ parts, isRequired, context }: FieldInput): ScalarKind {
  const allowed = allowedValues(parts);
  const fallback = firstKeyword(parts, 'default');
  if (allowed !== undefined) {
    return context.budget.take(allowed.length)
      ? choice(allowed, isRequired, fallback)
      : typedChoice(allowed, text(parts, fallback));
  }
  switch (valueType(parts)) {
    case 'boolean':
      return checkbox(fallback === true);
    case 'integer':
      return number(parts, fallback, 'integer');
    case 'number':
      return number(parts, fallback, 'number');
    case 'integer or string':
      return {
        ...text(parts, fallback),
        title: 'number or text',
        read: (control) => readIntOrString(control.value),
      };
    default:
      return text(parts, fallback);
  }
}

function choice(
  allowed: readonly JsonValue[],
  isRequired: boolean,
  fallback: JsonValue | undefined,
): ScalarKind {
  const none = fallback === undefined ? 'not set' : `not set (default ${display(fallback)})`;
  return {
    title: 'one of',
    create: () => {
      const options = allowed.map((value, at) =>
        element('option', { text: display(value), attributes: { value: String(at) } }),
      );
      const first = element('option', { text: none, attributes: { value: '' } });
      if (isRequired) first.disabled = true;
      return element('select', {}, first, ...options);
    },
    write: (control, value) => {
      const at = allowed.indexOf(value as JsonValue);
      control.value = at < 0 ? '' : String(at);
    },
    read: ({ value }) => (value === '' ? undefined : allowed[Number(value)]),
    empty: undefined,
  };
}

/** A choice without its list: what is typed becomes the allowed value with this text. */
function typedChoice(allowed: readonly JsonValue[], kind: ScalarKind): ScalarKind {
  return {
    ...kind,
    title: `one of ${allowed.length} values`,
    empty: undefined,
    read: (control) => {
      const typed = kind.read(control);
      return typed === undefined ? undefined : (allowed.find((value) => display(value) === typed) ?? typed);
    },
  };
}

function checkbox(fallback: boolean): ScalarKind {
  return {
    title: 'true or false',
    create: () => element('input', { attributes: { type: 'checkbox' } }),
    write: (control, value) => {
      (control as HTMLInputElement).checked = typeof value === 'boolean' ? value : fallback;
    },
    read: (control) => (control as HTMLInputElement).checked,
    empty: false,
  };
}

function number(
  parts: SchemaParts,
  fallback: JsonValue | undefined,
  title: 'integer' | 'number',
): ScalarKind {
  const step = firstKeyword(parts, 'multipleOf') ?? (title === 'integer' ? 1 : 'any');
  const bounds = { min: firstKeyword(parts, 'minimum'), max: firstKeyword(parts, 'maximum'), step };
  const given = Object.entries(bounds).filter(([, value]) => value !== undefined);
  return {
    ...text(parts, fallback),
    title: boundsText(title, bounds.min, bounds.max),
    create: () => {
      const attributes = { type: 'number', placeholder: display(fallback) };
      const limits = Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
      return element('input', { attributes: { ...attributes, ...limits } });
    },
    read: ({ value }) => (value.trim() === '' ? undefined : Number(value)),
    empty: undefined,
  };
}

function boundsText(title: string, low: JsonValue | undefined, high: JsonValue | undefined): string {
  if (low !== undefined && high !== undefined) return `${title} from ${low} to ${high}`;
  if (low !== undefined) return `${title}, at least ${low}`;
  return high === undefined ? title : `${title}, at most ${high}`;
}

function text(parts: SchemaParts, fallback: JsonValue | undefined): ScalarKind {
  const placeholder = display(fallback ?? firstKeyword(parts, 'example'));
  return {
    title: 'text',
    create: () =>
      element('input', {
        attributes: { type: 'text', placeholder, autocomplete: 'off', spellcheck: 'false' },
      }),
    write: (control, value) => {
      const shown = display(value);
      if (control.value !== shown) control.value = shown;
    },
    read: ({ value }) => (value === '' ? undefined : value),
    empty: '',
  };
}

function readIntOrString(value: string): JsonValue | undefined {
  if (value === '') return undefined;
  return /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

/** Returns the text of a value; empty if there is none, or if it is a list or a map. */
function display(value: JsonValue | undefined): string {
  return value === undefined || value === null || !isScalar(value) ? '' : String(value);
}
