import type { Path } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import type { JsonValue } from '../documents/definition.js';
import { parseImageReference } from '../images/image-reference.js';
import { field, isObject, textField } from '../json/access.js';
import type { Report } from './rule.js';

export const SHA256_PATTERN = /^[a-f0-9]{64}$/;
const NO_DIGEST = '0'.repeat(64);
const FLOATING_NAME =
  /^(?:latest|unstable|stable|main|master|head|trunk|edge|nightly|canary|dev|devel|develop|development|next|beta|alpha|rc|release|prod|production|staging|test)$/i;
/** Tags such as `v1` and `v0.3`, which move with every release. */
const PARTIAL_RELEASE = /^v?\d+(?:\.\d+)?$/;
const RELEASE = /^v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

/** Reports whether a tag usually moves to other images. */
export function isFloatingTag(tag: string): boolean {
  return FLOATING_NAME.test(tag) || PARTIAL_RELEASE.test(tag);
}

/** Checks a container runtime: the image reference, and whether it is pinned, with at most one finding for that. */
export function checkContainer(runtime: JsonValue, path: Path, report: Report): void {
  if (!isObject(runtime)) return;
  const sha256 = textField(runtime, 'sha256');
  if (sha256 !== undefined) {
    checkDigest(sha256, [...path, 'sha256'], 'image/digest-form', report);
  }
  const image = textField(runtime, 'image');
  if (image === undefined || image.trim() === '') return;
  const at = [...path, 'image'];
  const reference = parseImageReference(image);
  if (!reference.ok) {
    report('image/invalid', at, `the image ${quote(image)} ${reference.reason}`);
    return;
  }
  if (reference.host === undefined) {
    report('image/no-host', at, `the image ${quote(image)} has no registry`, {
      hint: `Add the registry, for example ${quote(`docker.io/${image}`)}.`,
    });
  }
  const digest = reference.digest?.slice('sha256:'.length);
  if (digest !== undefined && sha256 !== undefined && SHA256_PATTERN.test(sha256) && sha256 !== digest) {
    const message = 'the digest differs from the digest in the image reference';
    report('image/digest-mismatch', [...path, 'sha256'], message, {
      hint: `The reference has \`${digest}\`.`,
    });
  }
  // A malformed digest was already reported.
  const pinned = digest !== undefined || (field(runtime, 'sha256') ?? null) !== null;
  if (!pinned) reportUnpinned(reference.tag, at, report);
}

const ADD_DIGEST = 'Run `krmhub pin`, which adds the digest as `sha256`.';

function reportUnpinned(tag: string | undefined, path: Path, report: Report): void {
  if (tag === undefined) {
    report('image/no-tag', path, 'the image has neither tag nor digest, so it means `latest`', {
      hint: `Add the tag of the release. ${ADD_DIGEST}`,
    });
  } else if (isFloatingTag(tag)) {
    report('image/floating-tag', path, `the tag ${quote(tag)} can change, and no digest pins the image`, {
      hint: `Use the tag of the release. ${ADD_DIGEST}`,
    });
  } else if (RELEASE.test(tag)) {
    report('image/unpinned-release', path, `no digest pins the release ${quote(tag)}`, { hint: ADD_DIGEST });
  } else {
    report('image/no-digest', path, `no digest pins the tag ${quote(tag)}`, { hint: ADD_DIGEST });
  }
}

/** Reports a digest that is not 64 lower-case hexadecimal digits. */
export function checkDigest(
  sha256: string,
  path: Path,
  code: 'image/digest-form' | 'exec/digest-form',
  report: Report,
): void {
  if (sha256 === NO_DIGEST) {
    report('placeholder/digest', path, 'the digest is all zeros, which is a placeholder');
    return;
  }
  if (SHA256_PATTERN.test(sha256) || sha256.trim() === '') return;
  const fixed = sha256
    .trim()
    .replace(/^sha256:/i, '')
    .toLowerCase();
  const hint = SHA256_PATTERN.test(fixed)
    ? `Write \`${fixed}\`.`
    : `It has ${sha256.length} characters; a digest has 64, each 0-9 or a-f.`;
  report(code, path, `${quote(sha256)} is not a SHA-256 digest`, { hint });
}
