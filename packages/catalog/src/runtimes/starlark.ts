/** Starlark scripts: one reference, whose digest is in its text. */

import { defined } from '@krmhub/schema/defined';
import { type Digest, isDigest } from '@krmhub/schema/digests/is-digest';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { pinScript, readScriptReference } from '@krmhub/schema/script-reference';
import type { RuntimePin } from '../ports/runtime-pin.js';
import { changedReference, compareAddresses, comparePins, pinnedDigest } from './compare-references.js';
import { type LockField, readAddress, readDigest } from './lock-fields.js';
import { type CatalogRuntime, pinned, refused } from './runtime.js';

/** A script whose bytes are known. */
export interface ScriptPin {
  /** Without the fragment that pins it. */
  reference: string;
  /** Digest of the script; of the manifest, where `reference` is `oci://…@sha256:…`. */
  sha256: Digest;
}

export interface PinnedStarlark extends ScriptPin {
  type: 'starlark';
}

const SCRIPT_HINT =
  'Ask the publisher of the catalog to add it, as https://…#sha256=DIGITS or oci://…@sha256:DIGITS.';

export const starlark: CatalogRuntime<string, PinnedStarlark> = {
  programs: (script) => [{ reference: script, ...defined({ inside: readScriptReference(script).digest }) }],
  rewrite: (script, rewrite) => rewrite(script),
  order: (script) => script,
  withoutPlaces: (script) => readScriptReference(script).digest ?? script,
  takedownPins: scriptPin,
  draft: () => `# The script beside this file: \`krmhub publish\` pushes it, and fills in its reference.
starlark: ./main.star
`,
  access: () => ({ network: false, storage: false }),
  permissions: () => 'Starlark script: only its input',
  usage: (script) => [
    { text: 'The script, which krmhub fn, krmhub build, and krmhub plugins run:', snippet: `${script}\n` },
  ],
  unsupported: {
    kustomize: 'kustomize no longer runs Starlark',
    porch: 'Porch runs Starlark with its own function and does not download scripts',
  },
  compare(before, after, at, report) {
    if (before === undefined) return;
    comparePins('the script', pinnedDigest(before), pinnedDigest(after), at, report);
    const [was, is] = [readScriptReference(before).uri, readScriptReference(after).uri];
    compareAddresses('the script', was, is, at, report);
  },
  changed: (before, after) => ({ before: changedReference(before), after: changedReference(after) }),

  pin(script) {
    const { uri, digest = '' } = readScriptReference(script);
    const sha256 = `sha256:${digest}`;
    if (!isDigest(sha256)) return refused('untrusted', `the script ${script} has no digest`, SCRIPT_HINT);
    return pinned({ type: 'starlark', reference: uri, sha256 });
  },
  declare({ reference, sha256 }) {
    const isPinned = readScriptReference(reference).digest !== undefined;
    return isPinned ? reference : pinScript(reference, sha256.slice('sha256:'.length));
  },
  pinnedPrograms: ({ reference, sha256 }) => [{ uri: reference, sha256, deletable: true }],
  isComplete: ({ reference, sha256 }) => typeof reference === 'string' && isDigest(sha256),
  readLock,
  lockDocument: ({ reference, sha256 }) => ({ reference, sha256 }),
  difference(locked, declared, anyPlace) {
    if (locked.sha256 !== declared.sha256) {
      return `the script has the digest ${locked.sha256}, expected ${declared.sha256}`;
    }
    if (anyPlace || locked.reference === declared.reference) return undefined;
    return `the script is ${locked.reference}, expected ${declared.reference}`;
  },
};

/**
 * Returns the digest in the reference of a script, that of its manifest or its file. Without one, its repository and
 * tag, without the host: a registry has several names.
 */
function scriptPin(reference: string): RuntimePin[] {
  const { digest: digits } = readScriptReference(reference);
  if (digits !== undefined) {
    const digest = `sha256:${digits}`;
    return isDigest(digest) ? [digest] : [];
  }
  if (!reference.startsWith('oci://')) return [];
  const parsed = parseImageReference(reference.slice('oci://'.length));
  if (!parsed.ok || parsed.host === undefined || parsed.digest !== undefined) return [];
  return [`${parsed.repository}:${parsed.tag ?? 'latest'}`];
}

function readLock(field: LockField): PinnedStarlark | undefined {
  const item = field.mapping({ required: ['reference', 'sha256'] });
  if (item?.get('reference') === undefined || item.get('sha256') === undefined) return undefined;
  const reference = readAddress(item.get('reference'));
  const sha256 = readDigest(item.get('sha256'));
  if (reference === undefined || sha256 === undefined) return undefined;
  return { type: 'starlark', reference, sha256 };
}
