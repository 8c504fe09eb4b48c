import { type Diagnostic, type EntryDefaults, KrmhubError, parseImageReference } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';
import { printWarning } from '../io/print.js';
import type { Converted } from './distinct-definitions.js';

/** Values of options for fields that converted functions lack. */
export interface SuppliedValues {
  /** An image reference with a registry, for one function. */
  image?: string;
  /** URLs. */
  usage?: string;
  example?: string[];
}

/** Returns the values for missing fields. Refuses an image that no definition can have. */
export function readSupplied({ image, usage, example }: SuppliedValues): EntryDefaults {
  const reference = image === undefined ? undefined : parseImageReference(image);
  if (reference?.ok === false || (reference?.ok === true && reference.host === undefined)) {
    const reason = reference.ok ? 'has no registry' : reference.reason;
    throw new KrmhubError('usage', `--image ${image} ${reason}`, {
      hint: 'Use HOST/PATH:TAG or HOST/PATH@DIGEST, for example: --image registry.example.com/split:v1.0.0',
    });
  }
  return defined({ image, usage, examples: example });
}

/** Refuses an image for several functions, and warns of values that no function needs. */
export async function checkSupplied(
  io: Io,
  converted: readonly Converted[],
  { image, usage, example = [] }: SuppliedValues,
): Promise<void> {
  const versions = converted.flatMap(({ definition }) => definition.versions);
  // A converted definition with errors can lack examples.
  const examples = versions.flatMap((version) => version.examples ?? []);
  const withImage = converted.filter(({ definition }) =>
    definition.versions.some(({ runtime }) => runtime.container?.image === image),
  );
  const named = [
    ...new Set(withImage.map(({ definition: { group, names } }) => `${group}/${names.kind}`)),
  ].sort();
  if (image !== undefined && named.length > 1) {
    throw new KrmhubError('usage', `--image gives several functions the same image: ${named.join(', ')}`, {
      hint: 'Convert the functions without an image one at a time.',
    });
  }
  if (versions.length === 0) return;
  const unused = [
    ...(image === undefined || named.length > 0 ? [] : ['--image']),
    ...(usage === undefined || versions.some((version) => version.usage === usage) ? [] : ['--usage']),
    ...(example.every((one) => examples.includes(one)) ? [] : ['--example']),
  ];
  for (const option of unused)
    await printWarning(io, `${option} has no effect: every function that was read has its own value`);
}

/** Returns a hint if definitions were refused because nothing says how to run their function. */
export function suppliedHint(errors: readonly Diagnostic[], { image }: SuppliedValues): string | undefined {
  const isLacking = errors.some(
    ({ code, path }) => code === 'shape/missing-field' && /\.(?:runtime|container\.image)$/.test(path),
  );
  return isLacking && image === undefined
    ? '  hint: Supply the image of a function with --image, for example: --image registry.example.com/split:v1.0.0'
    : undefined;
}
