import type { DefinedVersions } from '@krmhub/schema/definition';
import type { RuntimePin } from '../ports/runtime-pin.js';
import { eachRuntime } from '../runtimes/runtimes.js';
import { starlark } from '../runtimes/starlark.js';

/** Returns the digests of the images, executables, and scripts of a definition, and the tags of its scripts, each once. */
export function runtimePins({ versions }: DefinedVersions): RuntimePin[] {
  const pins = versions.flatMap(({ runtime }) =>
    eachRuntime(runtime, (rules, declared) => rules.takedownPins(declared)).flat(),
  );
  return [...new Set(pins)];
}

/** Returns the digests and tags of the scripts of a definition, which can be in repositories of a registry. */
export function scriptPins({ versions }: DefinedVersions): RuntimePin[] {
  const pins = versions.flatMap(({ runtime }) =>
    runtime.starlark === undefined ? [] : starlark.takedownPins(runtime.starlark),
  );
  return [...new Set(pins)];
}
