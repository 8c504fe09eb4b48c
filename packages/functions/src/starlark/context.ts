import {
  Dict,
  HeapValue,
  intFromDouble,
  List,
  type ReprWriter,
  StarlarkFloat,
  type Value,
} from '@krmhub/starlark';

/** `ctx`, as in kpt. `open_api` is only made for a script that reads it, because it has thousands of values. */
export class Context extends HeapValue {
  readonly #resourceList: Dict;
  readonly #environment: Dict;
  readonly #readOpenApi: () => Value;
  #openApi: Value | undefined;

  constructor(resourceList: Dict, environment: Readonly<Record<string, string>>, readOpenApi: () => Value) {
    super();
    this.#resourceList = resourceList;
    this.#readOpenApi = readOpenApi;
    this.#environment = new Dict();
    for (const [name, value] of Object.entries(environment)) this.#environment.set(name, value);
  }

  override get typeName(): string {
    return 'struct';
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'resource_list':
        return this.#resourceList;
      case 'environment':
        return this.#environment;
      case 'open_api':
        this.#openApi ??= this.#readOpenApi();
        return this.#openApi;
      default:
        return undefined;
    }
  }

  override attributeNames(): readonly string[] {
    return ['environment', 'open_api', 'resource_list'];
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write('struct(environment = ');
    writer.writeValue(this.#environment);
    writer.write(', open_api = {...}, resource_list = ');
    writer.writeValue(this.#resourceList);
    writer.write(')');
  }
}

/** Returns the value of `ctx.open_api` from its JSON. */
export function schemasValue(json: string): Value {
  return jsonValue(JSON.parse(json));
}

function jsonValue(value: unknown): Value {
  if (Array.isArray(value)) return new List(value.map(jsonValue));
  if (typeof value === 'object' && value !== null) {
    const dict = new Dict();
    for (const [key, child] of Object.entries(value)) dict.set(key, jsonValue(child));
    return dict;
  }
  if (typeof value === 'number')
    return Number.isInteger(value) ? intFromDouble(value) : new StarlarkFloat(value);
  return value as Value;
}
