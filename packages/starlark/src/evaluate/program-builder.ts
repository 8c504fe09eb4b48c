import type { Resolution } from '../resolve/names.js';
import type { Source } from '../syntax/source.js';
import type { FunctionCode } from '../values/function-code.js';
import type { Value } from '../values/value.js';

/** What the generated code of a program refers to by number. */
export class ProgramBuilder {
  readonly constants: Value[] = [];
  readonly codes: FunctionCode[] = [];
  readonly #constantNames = new Map<Value, string>();

  constructor(
    readonly source: Source,
    readonly resolution: Resolution,
    readonly recursion: boolean,
  ) {}

  /** Returns JavaScript for a constant. Text of the program never becomes code: it is passed as a value. */
  constant(value: Value): string {
    if (value === null) return 'null';
    if (typeof value === 'boolean') return String(value);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return String(value);
    // A map would take large ints that differ in their upper digits only as one list to search.
    const known = typeof value === 'bigint' ? undefined : this.#constantNames.get(value);
    if (known !== undefined) return known;
    const name = `k${this.constants.length}`;
    this.constants.push(value);
    if (typeof value !== 'bigint') this.#constantNames.set(value, name);
    return name;
  }

  /** Returns the name under which generated code finds a function's code. */
  code(code: FunctionCode): string {
    this.codes.push(code);
    return `c${this.codes.length - 1}`;
  }
}
