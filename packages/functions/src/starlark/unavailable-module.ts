import {
  EvaluationError,
  HeapValue,
  type Kwargs,
  type ReprWriter,
  type Thread,
  type Value,
} from '@krmhub/starlark';

/**
 * A module that scripts for kpt load and that functions do not have here. Loading it works, because scripts load more
 * than they use; its first use is an error.
 */
export class UnavailableModule extends HeapValue {
  readonly #name: string;
  readonly #reason: string;

  constructor(name: string, reason: string) {
    super();
    this.#name = name;
    this.#reason = reason;
  }

  override get typeName(): string {
    return 'module';
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(`<module ${JSON.stringify(this.#name)}>`);
  }

  override attribute(name: string): Value | undefined {
    throw new EvaluationError(`${this.#name}.${name} is not available: ${this.#reason}`);
  }

  override call(_thread: Thread, _args: readonly Value[], _kwargs: Kwargs): Value {
    throw new EvaluationError(`${this.#name} is not available: ${this.#reason}`);
  }

  override get callable(): boolean {
    return true;
  }
}
