/** Checks the references and digests of executables and scripts. */

import type { Path } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { ociDigest, parseImageReference } from '../images/image-reference.js';
import { readScriptReference } from '../images/script-reference.js';
import { field, isObject, listField, textField } from '../json/access.js';
import { parseUrl } from '../names/parse-url.js';
import { checkDigest } from './container.js';
import { checkCredentials } from './link.js';
import type { Report } from './rule.js';

const REFERENCE = /^(?:https|oci|git|ssh|git\+https|git\+ssh):\/\/[^\s/?#]+[^\s]*$/i;

/** Checks an exec runtime. */
export function checkExec(runtime: JsonValue, at: Path, report: Report): void {
  const path = [...at, 'platforms'];
  const first = new Map<string, number>();
  listField(runtime, 'platforms').forEach((platform, index) => {
    if (!isObject(platform)) return;
    const at = [...path, index];
    const os = textField(platform, 'os');
    const arch = textField(platform, 'arch');
    if (os !== undefined && arch !== undefined) {
      const key = `${os}/${arch}`;
      const earlier = first.get(key);
      if (earlier === undefined) first.set(key, index);
      else {
        report(
          'exec/duplicate-platform',
          at,
          `${quote(key)} is already the platform of platforms[${earlier}]`,
        );
      }
    }
    const uri = textField(platform, 'uri');
    if (uri !== undefined && uri.trim() !== '') checkReference(uri, [...at, 'uri'], 'exec/uri', report);
    const bin = textField(platform, 'bin');
    if (bin !== undefined && bin.trim() !== '') checkBin(bin, [...at, 'bin'], report);
    const sha256 = textField(platform, 'sha256');
    if (sha256 !== undefined) checkDigest(sha256, [...at, 'sha256'], 'exec/digest-form', report);
    else if (uri !== undefined) checkPinned(platform, uri, at, report);
  });
}

/**
 * Reports an executable without a digest. An OCI digest in the reference is sufficient (KEP-2906, "Design Details").
 */
function checkPinned(platform: JsonObject, uri: string, at: Path, report: Report): void {
  // The shape rule already reported a digest of another type.
  if (field(platform, 'sha256') !== undefined) return;
  const digest = ociDigest(uri);
  if (digest === undefined) {
    report('exec/no-digest', at, `no digest verifies ${quote(uri)}`);
    return;
  }
  checkDigest(digest, [...at, 'uri'], 'exec/digest-form', report);
  const message =
    'the schema of KEP-2906 requires `sha256`, and the program has only a digest in its reference';
  report('exec/not-in-kep-schema', [...at, 'uri'], message);
}

/** Checks that a text is a reference to a program: `https://…`, `oci://…`, or `git::https://…//path?ref=…`. */
function checkReference(
  text: string,
  path: Path,
  code: 'exec/uri' | 'starlark/reference',
  report: Report,
): boolean {
  const url = text.replace(/^git::/, '');
  const isGit = url !== text;
  if (!REFERENCE.test(url) || parseUrl(url) === undefined || (isGit && /^oci:/i.test(url))) {
    report(code, path, `${quote(text)} is not an https, git, or oci reference`);
    return false;
  }
  if (/^oci:/i.test(url)) {
    const reference = parseImageReference(url.slice('oci://'.length));
    if (!reference.ok || reference.host === undefined) {
      const reason = reference.ok ? 'has no registry' : reference.reason;
      report(code, path, `the OCI reference ${quote(text)} ${reason}`);
      return false;
    }
  }
  checkCredentials(url, path, report);
  return true;
}

function checkBin(bin: string, path: Path, report: Report): void {
  const leaves = bin.split(/[\\/]/).includes('..') || /^[\\/]|^[A-Za-z]:/.test(bin);
  if (leaves) report('exec/bin', path, `the path ${quote(bin)} points outside the archive`);
  else if (bin.includes('\\') || bin.endsWith('/')) {
    report('exec/bin', path, `the path ${quote(bin)} is not a file path with forward slashes`);
  }
}

/** Checks a Starlark runtime. */
export function checkScript(script: JsonValue, path: Path, report: Report): void {
  if (typeof script !== 'string' || script.trim() === '') return;
  report('starlark/not-in-kep-schema', path, 'the schema of KEP-2906 has no Starlark runtime');
  const { uri, digest } = readScriptReference(script);
  if (!checkReference(uri, path, 'starlark/reference', report) || digest !== undefined) return;
  // A release or a commit does not verify the bytes, so it is not sufficient.
  report('starlark/unpinned', path, `no digest verifies ${quote(script)}`, {
    hint: /^oci:/i.test(uri)
      ? 'Add the digest of its manifest, as oci://…@sha256:DIGITS.'
      : 'Add the digest of the script, as https://…#sha256=DIGITS.',
  });
}
