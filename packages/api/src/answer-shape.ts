/**
 * A check of answers without a schema library: the command line has to start at once, and a program that
 * is no krmhub registry has to be told apart from one. It holds what is read to its types and passes over
 * fields that a newer registry may add.
 */
export type Shape =
  | 'string'
  | 'number'
  | 'boolean'
  | 'object'
  | readonly [Shape]
  | { readonly [name: string]: Shape };

/** The shape of a type; a name that ends in `?` may be absent, one that ends in `|null` may be null. */
export type ShapeOf<T> = [T] extends [string]
  ? 'string'
  : [T] extends [number]
    ? 'number'
    : [T] extends [boolean]
      ? 'boolean'
      : [T] extends [readonly (infer Item)[]]
        ? readonly [ShapeOf<Item>]
        : string extends keyof T
          ? 'object'
          : {
              readonly [Name in keyof T & string as undefined extends T[Name]
                ? `${Name}?`
                : null extends T[Name]
                  ? `${Name}|null`
                  : Name]: ShapeOf<NonNullable<T[Name]>>;
            };

/** The path of the first place where a value is not of the shape; undefined where it is. */
export function mismatch(value: unknown, shape: Shape, path = ''): string | undefined {
  if (typeof shape === 'string') {
    if (shape === 'object') return isObject(value) ? undefined : at(path);
    return typeof value === shape ? undefined : at(path);
  }
  if (isList(shape)) {
    if (!Array.isArray(value)) return at(path);
    for (const [index, item] of value.entries()) {
      const found = mismatch(item, shape[0], `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isObject(value)) return at(path);
  for (const [key, inner] of Object.entries(shape)) {
    const [name, mark] = splitMark(key);
    const present = Object.hasOwn(value, name) && value[name] !== undefined;
    if (mark === '?' ? !present : mark === '|null' && present && value[name] === null) continue;
    const found = mismatch(present ? value[name] : undefined, inner, path === '' ? name : `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function splitMark(key: string): [name: string, mark: '' | '?' | '|null'] {
  for (const mark of ['?', '|null'] as const)
    if (key.endsWith(mark)) return [key.slice(0, -mark.length), mark];
  return [key, ''];
}

function isList(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function at(path: string): string {
  return path === '' ? 'the whole' : path;
}
