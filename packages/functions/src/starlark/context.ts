import { Dict, HeapValue, type ReprWriter, type Value } from '@krmhub/starlark';
import { openApi } from './open-api.js';

/** `ctx`, as in kpt. `open_api` is only made for a script that reads it, because it has thousands of values. */
export class Context extends HeapValue {
  readonly #resourceList: Dict;
  readonly #environment: Dict;
  #openApi: Value | undefined;

  constructor(resourceList: Dict, environment: Readonly<Record<string, string>>) {
    super();
    this.#resourceList = resourceList;
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
        this.#openApi ??= openApi();
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
