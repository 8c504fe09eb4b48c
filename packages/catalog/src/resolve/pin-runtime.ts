import { defined } from '@krmhub/schema/defined';
import {
  type ContainerRuntime,
  type ExecRuntime,
  type FunctionRuntime,
  RUNTIME_KINDS,
  type RuntimeKind,
} from '@krmhub/schema/definition';
import { type Digest, isDigest } from '@krmhub/schema/digest';
import type { ErrorCode } from '@krmhub/schema/error';
import { fullRepository, ociDigest, parseImageReference } from '@krmhub/schema/image-reference';
import { readScriptReference } from '@krmhub/schema/script-reference';
import type { PinnedContainer, PinnedRuntime } from './runtimes.js';

/** What a registry serves for the reference of an image. */
export interface ServedImage {
  /** Digest of its manifest or index. */
  digest: Digest;
  platforms?: Record<string, Digest>;
}

export interface PinOptions {
  /** The kind of runtime that the user wants. Default: container, else exec, else Starlark. */
  runtime?: RuntimeKind;
  /** What the registry of the image serves, once it was asked. */
  image?: ServedImage;
}

export type PinPlan =
  | { type: 'pinned'; runtime: PinnedRuntime; warnings: string[] }
  /** Ask the registry for the digest of this reference, then plan again. */
  | { type: 'ask'; reference: string }
  | { type: 'refused'; code: ErrorCode; reason: string; hint: string };

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
  if (kind === 'container') return pinContainer(runtime.container!, options.image);
  return kind === 'exec' ? pinExec(runtime.exec!) : pinStarlark(runtime.starlark!);
}

function pinContainer(container: ContainerRuntime, served: ServedImage | undefined): PinPlan {
  const { image } = container;
  const parsed = parseImageReference(image);
  if (!parsed.ok) return refused('invalid-document', `the image "${image}" ${parsed.reason}`, CATALOG_HINT);
  const { tag } = parsed;
  const name = fullRepository(image);
  const inside = parsed.digest as Digest | undefined;
  const beside = container.sha256 === undefined ? undefined : `sha256:${container.sha256}`;
  if (beside !== undefined && !isDigest(beside)) {
    return refused('invalid-document', `the sha256 of the image ${image} is not a digest`, CATALOG_HINT);
  }
  if (inside !== undefined && beside !== undefined && inside !== beside) {
    return refused(
      'digest-mismatch',
      `the digest of the image ${image} differs from its sha256, ${beside}`,
      CATALOG_HINT,
    );
  }
  const known = inside ?? beside;
  if (known !== undefined && served !== undefined && served.digest !== known) {
    return refused(
      'digest-mismatch',
      `${name} has the digest ${served.digest}, expected ${known}`,
      SERVED_HINT,
    );
  }
  const warnings: string[] = [];
  if (parsed.host === undefined) {
    warnings.push(`the image ${image} has no registry; krmhub uses ${name}, as Docker does`);
  }
  if (known === undefined) {
    const reference = `${name}:${tag ?? 'latest'}`;
    if (served === undefined) return { type: 'ask', reference };
    warnings.push(`the image ${image} has no digest; ${reference} is now ${served.digest}`);
  }
  const digest = known ?? served!.digest;
  const runtime: PinnedContainer = {
    type: 'container',
    image: `${name}@${digest}`,
    ...defined({ platforms: served?.platforms }),
    network: container.requireNetwork === true,
    storage: container.requireStorageMount === true,
  };
  return pinned(runtime, warnings);
}

function pinExec({ platforms }: ExecRuntime): PinPlan {
  const found = platforms.map(({ os, arch, bin, uri, sha256 }) => {
    const digest = `sha256:${sha256 ?? ociDigest(uri) ?? ''}`;
    return { os, arch, bin, uri, ...defined({ sha256: isDigest(digest) ? digest : undefined }) };
  });
  const unpinned = found.find((one) => one.sha256 === undefined);
  if (unpinned !== undefined) {
    const reason = `the executable ${unpinned.uri} for ${unpinned.os}/${unpinned.arch} has no sha256`;
    return refused('untrusted', reason, CATALOG_HINT);
  }
  return pinned({ type: 'exec', platforms: found.map((one) => ({ ...one, sha256: one.sha256! })) });
}

function pinStarlark(script: string): PinPlan {
  const { uri, digest = '' } = readScriptReference(script);
  const sha256 = `sha256:${digest}`;
  if (!isDigest(sha256)) return refused('untrusted', `the script ${script} has no digest`, SCRIPT_HINT);
  return pinned({ type: 'starlark', reference: uri, sha256 });
}

const SCRIPT_HINT =
  'Ask the publisher of the catalog to add it, as https://…#sha256=DIGITS or oci://…@sha256:DIGITS.';
const CATALOG_HINT = 'Ask the publisher of the catalog to correct its entry.';
const SERVED_HINT =
  'Nothing was run. Ask the operator of the registry: the registry or a proxy serves another image.';

function pinned(runtime: PinnedRuntime, warnings: string[] = []): PinPlan {
  return { type: 'pinned', runtime, warnings };
}

function refused(code: ErrorCode, reason: string, hint: string): PinPlan {
  return { type: 'refused', code, reason, hint };
}
