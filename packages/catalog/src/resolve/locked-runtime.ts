import type { FunctionRuntime } from '@krmhub/schema/definition';
import { pinRuntime } from './pin-runtime.js';
import type { PinnedContainer, PinnedExec, PinnedRuntime } from './runtimes.js';

/**
 * Returns why a locked runtime is not one that a definition names; undefined if it is. Whoever can change a lock file must not choose
 * what runs: digests have to be those of the definition, and where it has only a tag, the image has to be the same. A catalog may have
 * rewritten the place of what a digest identifies.
 */
export function lockedRuntimeProblem(locked: PinnedRuntime, runtime: FunctionRuntime): string | undefined {
  const plan = pinRuntime(runtime, { runtime: locked.type });
  if (plan.type === 'refused') return plan.reason;
  if (plan.type === 'ask') {
    if (locked.type !== 'container') return 'it is another kind of runtime';
    const name = plan.reference.slice(0, plan.reference.lastIndexOf(':'));
    return nameOf(locked.image) === name ? needsProblem(locked, runtime) : `its image is not ${name}`;
  }
  const named = plan.runtime;
  if (named.type === 'container' && locked.type === 'container') {
    const digest = digestOf(named.image);
    return digestOf(locked.image) === digest
      ? needsProblem(locked, runtime)
      : `its image has not the digest ${digest}`;
  }
  if (named.type === 'exec' && locked.type === 'exec') return execProblem(locked, named);
  if (named.type !== 'starlark' || locked.type !== 'starlark') return 'it is another kind of runtime';
  const isSame = locked.reference === named.reference && locked.sha256 === named.sha256;
  return isSame ? undefined : `its script is not ${named.reference}`;
}

function needsProblem(locked: PinnedContainer, { container }: FunctionRuntime): string | undefined {
  const has = (needed: boolean, declared: boolean | undefined) => needed === (declared === true);
  if (!has(locked.network, container?.requireNetwork)) return 'it needs the network otherwise than declared';
  return has(locked.storage, container?.requireStorageMount)
    ? undefined
    : 'it needs mounts otherwise than declared';
}

function execProblem(locked: PinnedExec, named: PinnedExec): string | undefined {
  for (const { os, arch, bin, sha256 } of locked.platforms) {
    const found = named.platforms.find((one) => one.os === os && one.arch === arch);
    if (found === undefined) return `the definition has no executable for ${os}/${arch}`;
    if (found.sha256 !== sha256) return `its executable for ${os}/${arch} has not the digest ${found.sha256}`;
    if (found.bin !== bin) return `its executable for ${os}/${arch} is not ${found.bin}`;
  }
  return undefined;
}

function nameOf(image: string): string {
  return image.slice(0, image.lastIndexOf('@'));
}

function digestOf(image: string): string {
  return image.slice(image.lastIndexOf('@') + 1);
}
