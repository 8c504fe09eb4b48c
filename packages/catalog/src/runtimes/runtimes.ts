/**
 * The runtimes, by kind: how each is pinned, compared, locked, and described.
 *
 * Everything that is done with a runtime, whichever it is, begins here.
 *
 * @module
 */

import type {
  FunctionRuntime,
  FunctionVersion,
  RunnableVersion,
  RuntimeKind,
  RuntimeValues,
} from '@krmhub/schema/definition';
import { RUNTIME_KINDS } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { container, type PinnedContainer } from './container.js';
import { exec, type PinnedExec } from './exec.js';
import type {
  CatalogRuntime,
  ChangedReference,
  DeclaredProgram,
  PinnedProgram,
  RuntimeAccess,
} from './runtime.js';
import { type PinnedStarlark, starlark } from './starlark.js';

/** A runtime in which nothing can move: what runs is named by its digest. */
export type PinnedRuntime = PinnedContainer | PinnedExec | PinnedStarlark;
export type PinnedOf<Kind extends RuntimeKind> = Extract<PinnedRuntime, { type: Kind }>;

const RUNTIMES: { readonly [Kind in RuntimeKind]: CatalogRuntime<RuntimeValues[Kind], PinnedOf<Kind>> } = {
  container,
  exec,
  starlark,
};

/** The rules of a kind. Its values are of this kind: TypeScript cannot connect the two for a kind that is a variable. */
export function runtimeRules<Kind extends RuntimeKind>(
  kind: Kind,
): CatalogRuntime<RuntimeValues[Kind], PinnedOf<Kind>> {
  return RUNTIMES[kind];
}

/** The rules of the kind of a pinned runtime. */
export function findRules<Runtime extends PinnedRuntime>({
  type,
}: Runtime): CatalogRuntime<RuntimeValues[RuntimeKind], Runtime> {
  return RUNTIMES[type] as unknown as CatalogRuntime<RuntimeValues[RuntimeKind], Runtime>;
}

export function pinnedPrograms(runtime: PinnedRuntime): PinnedProgram[] {
  return findRules(runtime).pinnedPrograms(runtime);
}

/** Returns a value for each runtime that a definition has, in the order of `RUNTIME_KINDS`. */
export function eachRuntime<Value>(
  runtime: FunctionRuntime,
  read: <Kind extends RuntimeKind>(
    rules: CatalogRuntime<RuntimeValues[Kind], PinnedOf<Kind>>,
    declared: RuntimeValues[Kind],
    kind: Kind,
  ) => Value,
): Value[] {
  const readOne = <Kind extends RuntimeKind>(kind: Kind): Value[] => {
    const declared = runtime[kind];
    return declared === undefined ? [] : [read(RUNTIMES[kind], declared, kind)];
  };
  return RUNTIME_KINDS.flatMap((kind) => readOne(kind));
}

/** Returns a record with a value for each runtime that a definition has. */
export function mapRuntime<Value>(
  runtime: FunctionRuntime,
  make: Parameters<typeof eachRuntime<Value>>[1],
): Record<string, Value> {
  return Object.fromEntries(
    eachRuntime(runtime, (rules, declared, kind) => [kind, make(rules, declared, kind)]),
  );
}

/** Returns everything that an API version runs. */
export function declaredPrograms({ runtime }: RunnableVersion): DeclaredProgram[] {
  return eachRuntime(runtime, (rules, declared) => rules.programs(declared)).flat();
}

/** Returns what API versions may access besides their input, whichever of their runtimes is used. */
export function runtimeAccess(...versions: readonly FunctionVersion[]): RuntimeAccess {
  const all = versions.flatMap(({ runtime }) =>
    eachRuntime(runtime, (rules, declared) => rules.access(declared)),
  );
  if (all.includes('everything')) return 'everything';
  const some = all.filter((access) => access !== 'everything');
  return { network: some.some(({ network }) => network), storage: some.some(({ storage }) => storage) };
}

/** Returns what a change of a runtime is about. `below` is the path of the change below the runtime. */
export function changedReferences<Kind extends RuntimeKind>(
  before: FunctionRuntime,
  after: FunctionRuntime,
  kind: Kind,
  below: Path,
): { before?: ChangedReference; after?: ChangedReference } {
  return RUNTIMES[kind].changed(before[kind], after[kind], below);
}

/** Returns the runtimes of an API version that a dialect of another tool does not have, each with the reason. */
export function unsupportedRuntimes(
  { runtime }: RunnableVersion,
  tool: 'kustomize' | 'porch',
): { kind: RuntimeKind; message: string }[] {
  return eachRuntime(runtime, ({ unsupported }, _, kind) => ({ kind, message: unsupported[tool] })).flatMap(
    ({ kind, message }) => (message === undefined ? [] : [{ kind, message }]),
  );
}
