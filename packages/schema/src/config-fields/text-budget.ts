import type { JsonValue } from '../documents/definition.js';

/** Words that some YAML parsers do not read as strings. */
const AMBIGUOUS = /^(y|n|yes|no|on|off|true|false|null|nil|none|nan|inf|infinity|~)$/i;
const PLAIN = /^[A-Za-z_/][^\x00-\x20"'`]*(?: [^\x00-\x20"'`]+)*$/;

/** The text budget of one description. Longer text is truncated, and sets `cut`. */
export class TextBudget {
  #left: number;
  #truncated = false;

  /** `characters` is the budget in UTF-16 code units. */
  constructor(characters: number) {
    this.#left = characters;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Returns the text, or its beginning and an ellipsis. */
  take(text: string, most: number): string {
    const room = Math.min(most, this.#left);
    const kept = text.length <= room ? text : `${withoutLoneSurrogate(text.slice(0, room))}…`;
    if (kept !== text) this.#truncated = true;
    this.#left -= Math.min(text.length, room);
    return kept;
  }

  /** Returns a value as YAML on one line. */
  value(value: JsonValue, most: number): string {
    return this.take(formatInline(value, most), most);
  }
}

/** Removes half of a surrogate pair at the end. */
function withoutLoneSurrogate(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}

/** Serializes only about as much of a large value as is shown. */
function formatInline(value: JsonValue, most: number): string {
  if (typeof value === 'string') {
    if (value.length > most) return value;
    return PLAIN.test(value) && !AMBIGUOUS.test(value) ? value : JSON.stringify(value);
  }
  if (typeof value !== 'object' || value === null) return String(value);
  const pieces: string[] = [];
  let length = 0;
  const write = (inner: JsonValue): void => {
    if (length > most) return;
    if (typeof inner !== 'object' || inner === null) add(scalar(inner, most));
    else if (Array.isArray(inner)) {
      add('[');
      for (const [index, item] of inner.entries()) {
        if (length > most) return;
        if (index > 0) add(', ');
        write(item);
      }
      add(']');
    } else {
      add('{');
      let first = true;
      for (const name of Object.keys(inner)) {
        if (length > most) return;
        add(`${first ? '' : ', '}${scalar(name, most)}: `);
        first = false;
        write(inner[name]!);
      }
      add('}');
    }
  };
  const add = (text: string): void => {
    pieces.push(text);
    length += text.length;
  };
  write(value);
  return pieces.join('');
}

function scalar(value: JsonValue, most: number): string {
  return JSON.stringify(typeof value === 'string' ? value.slice(0, most + 1) : value);
}
