import { defined } from '../defined.js';
import { ociDigest } from './image-reference.js';

/**
 * The reference of a Starlark script. KEP-2906 has one text for it ("Proposal"), so its digest is in that text: an OCI
 * reference has that of its manifest (`oci://…@sha256:DIGITS`), every other one that of the script in its fragment
 * (`https://…#sha256=DIGITS`), as in the references of pip.
 */
export interface ScriptReference {
  /** Without the fragment. */
  uri: string;
  /** 64 lower-case hexadecimal digits. Absent where nothing verifies the script. */
  digest?: string;
}

const FRAGMENT = /^([^#]*)#sha256=([0-9a-f]{64})$/;

/** Splits a reference into its address and its digest. */
export function readScriptReference(reference: string): ScriptReference {
  const [, uri, digest] = FRAGMENT.exec(reference) ?? [];
  if (uri !== undefined && digest !== undefined) return { uri, digest };
  const inside = ociDigest(reference);
  return { uri: reference, ...defined({ digest: inside }) };
}

/** Adds the digest of the script to a reference without one. */
export function pinScript(uri: string, digest: string): string {
  return `${uri}#sha256=${digest}`;
}
