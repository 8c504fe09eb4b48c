/**
 * Optional properties of an object literal. With `exactOptionalPropertyTypes`, `{ name: undefined }` is not an object
 * without `name`. `{ ...defined({ name }) }` is one, for each value that is undefined.
 */

/** A value of any type. The union makes TypeScript infer `'oci'`, and not `string`, for a literal. */
type Value = string | number | bigint | boolean | symbol | NonNullable<unknown> | null | undefined;

/** `T`, where each property that can be undefined is optional instead. */
export type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns the properties whose value is not undefined, in the same order. */
export function defined<V extends Value, T extends Readonly<Record<string, V>>>(values: T): Defined<T> {
  const properties: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) if (value !== undefined) properties[name] = value;
  return properties as Defined<T>;
}
