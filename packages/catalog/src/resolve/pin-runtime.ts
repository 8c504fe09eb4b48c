import { type FunctionRuntime, RUNTIME_KINDS, type RuntimeKind } from '@krmhub/schema/definition';
import { CATALOG_HINT, type RuntimePlan, refused, type ServedImage } from '../runtimes/runtime.js';
import { type PinnedRuntime, runtimeRules } from '../runtimes/runtimes.js';

export type { ServedImage } from '../runtimes/runtime.js';

export interface PinOptions {
  /** The kind of runtime that the user wants. Default: container, else exec, else Starlark. */
  runtime?: RuntimeKind;
  /** What the registry of the image serves, once it was asked. */
  image?: ServedImage;
}

export type PinPlan = RuntimePlan<PinnedRuntime>;

/**
 * Plans how the runtime of an API version is pinned by digests. A digest in the catalog and one in the reference must
 * be the same; a tag without a digest has to be looked up. An executable or script without a digest is refused
 * (KEP-2906, "Proposal").
 */
export function pinRuntime(runtime: FunctionRuntime, options: PinOptions = {}): PinPlan {
  const kinds = RUNTIME_KINDS.filter((kind) => runtime[kind] !== undefined);
  const kind = options.runtime ?? kinds[0];
  if (kind === undefined) return refused('invalid-document', 'it has no runtime', CATALOG_HINT);
  if (runtime[kind] === undefined) {
    return refused(
      'not-found',
      `it has no ${kind} runtime, only ${kinds.join(' and ') || 'unknown runtimes'}`,
      kinds[0] === undefined ? CATALOG_HINT : `Use --runtime ${kinds[0]}.`,
    );
  }
  return pinKind(runtime, kind, options.image);
}

function pinKind<Kind extends RuntimeKind>(
  runtime: FunctionRuntime,
  kind: Kind,
  served: ServedImage | undefined,
): PinPlan {
  return runtimeRules(kind).pin(runtime[kind]!, served) as PinPlan;
}
