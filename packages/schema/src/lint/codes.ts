import type { Severity } from '../diagnostics/diagnostic.js';
import { SCHEMA_RULES } from './structural/codes.js';

/** What a rule finds, its severity in each ruleset, and the fix. */
export interface LintRule {
  severity: Severity | 'off';
  /** In the ruleset `kep`, if different. */
  kep?: Severity | 'off';
  summary: string;
  fix: string;
}

/** Every code of the lint rules. An error misleads or breaks consumers; a warning does not. */
export const LINT_RULES = {
  'shape/missing-field': {
    severity: 'error',
    summary: 'A required field is missing or has no value.',
    fix: 'Add the field; the message says what it is for.',
  },
  'shape/wrong-type': {
    severity: 'error',
    summary: 'The value has the wrong type.',
    fix: 'Write a value of the type that the message names.',
  },
  'shape/unknown-field': {
    severity: 'error',
    summary:
      'The field does not exist in a KRM function definition. Strict readers reject the whole document.',
    fix: 'Correct the spelling, or remove the field.',
  },
  'shape/unknown-value': {
    severity: 'error',
    summary: 'The value is not one that the field allows.',
    fix: 'Use one of the values that the message lists.',
  },
  'shape/empty': {
    severity: 'error',
    summary: 'A string or list that must not be empty is empty.',
    fix: 'Add a value.',
  },

  'names/group': {
    severity: 'error',
    summary: 'The group is not a DNS name with a dot, or is longer than 253 characters.',
    fix: 'Use a domain that you own, in lower case: `fn.example.com`.',
  },
  'names/kind': {
    severity: 'error',
    summary: 'The kind is not made of letters, digits and dashes, or is longer than 63 characters.',
    fix: 'Use a name such as `SetLabels`.',
  },
  'names/kind-case': {
    severity: 'warning',
    summary: 'The kind is not in PascalCase, as kinds are by convention.',
    fix: '`set-labels` becomes `SetLabels`.',
  },
  'names/version': {
    severity: 'error',
    summary: 'The name of an API version is not a DNS label.',
    fix: 'Use `v1`, `v1beta1` or `v1alpha1`; the release of the function is not an API version.',
  },
  'names/version-form': {
    severity: 'warning',
    summary: 'The name of an API version is not of the form that Kubernetes sorts, such as `v1beta1`.',
    fix: 'Use `v1`, `v1beta1` or `v1alpha1`.',
  },
  'names/duplicate-version': {
    severity: 'error',
    summary: 'An API version appears twice in one definition; readers use the first.',
    fix: 'Remove or rename one of them.',
  },
  'description/one-line': {
    severity: 'warning',
    summary: 'The description has more than one line; lists show one.',
    fix: 'Write one line, and put details in the document that `usage` names.',
  },
  'description/length': {
    severity: 'warning',
    summary: 'The description is longer than 200 characters.',
    fix: 'Shorten it; details belong in the document that `usage` names.',
  },
  'tags/form': {
    severity: 'warning',
    summary: 'A tag has leading or trailing spaces, a comma, or more than 50 characters.',
    fix: 'Use one short word or term for each tag.',
  },
  'tags/duplicate': {
    severity: 'warning',
    summary: 'A tag appears twice; upper and lower case are the same.',
    fix: 'Remove one.',
  },

  'runtime/none': {
    severity: 'error',
    summary: 'An API version has no runtime, so nothing can run the function.',
    fix: 'Add `runtime.container`, `runtime.exec` or `runtime.starlark`.',
  },
  'image/invalid': {
    severity: 'error',
    summary: 'The image is not a valid image reference.',
    fix: 'Write `host/path:tag`, such as `ghcr.io/acme/set-labels:v1.2.3`.',
  },
  'image/no-host': {
    severity: 'error',
    summary: 'The image names no registry. Programs use different defaults.',
    fix: 'Write the registry: `docker.io/acme/set-labels:v1.2.3`.',
  },
  'image/no-tag': {
    severity: 'warning',
    summary: 'The image has neither tag nor digest, so it means `latest`, which changes.',
    fix: "Add the release's tag, and the digest as `sha256`.",
  },
  'image/floating-tag': {
    severity: 'warning',
    summary: 'The tag of the image can change, such as `latest` or `v1`, and no digest pins it.',
    fix: "Use the release's tag, and add the digest as `sha256`.",
  },
  'image/unpinned-release': {
    severity: 'warning',
    kep: 'error',
    summary: 'The tag of the image is a release and no digest pins it. KEP-2906 requires `sha256` here.',
    fix: 'Add `sha256: <64 hexadecimal digits>` next to `image`.',
  },
  'image/no-digest': {
    severity: 'warning',
    summary: 'No digest pins the image, so its tag can later name another image.',
    fix: 'Add `sha256: <64 hexadecimal digits>` next to `image`.',
  },
  'image/digest-form': {
    severity: 'error',
    summary: '`sha256` of an image is not 64 lower-case hexadecimal digits.',
    fix: 'Write the digest without `sha256:`, in lower case.',
  },
  'image/digest-mismatch': {
    severity: 'error',
    summary: 'The digest in the image reference and the field `sha256` differ.',
    fix: 'Keep the correct one.',
  },
  'exec/uri': {
    severity: 'error',
    summary: 'The URI of the program is not an https, git or oci reference.',
    fix: 'Write `https://…`, `git::https://…//path?ref=…` or `oci://…`.',
  },
  'exec/no-digest': {
    severity: 'error',
    summary: 'No digest verifies the program: `sha256` is missing, and the URI has no OCI digest.',
    fix: 'Add `sha256`, or write `oci://host/repository@sha256:…`.',
  },
  'exec/not-in-kep-schema': {
    severity: 'off',
    kep: 'warning',
    summary: 'The text of KEP-2906 allows an OCI digest in place of `sha256`, but its schema does not.',
    fix: 'Add `sha256` for readers that follow the schema.',
  },
  'exec/bin': {
    severity: 'error',
    summary: 'The path of the program leaves the folder that it is unpacked in.',
    fix: 'Write a relative path with forward slashes and without `..`.',
  },
  'exec/digest-form': {
    severity: 'error',
    summary: '`sha256` of a program is not 64 lower-case hexadecimal digits.',
    fix: 'Write what `sha256sum` prints for the downloaded file.',
  },
  'exec/duplicate-platform': {
    severity: 'error',
    summary: 'An operating system and architecture appear twice.',
    fix: 'Keep one program per platform.',
  },
  'starlark/reference': {
    severity: 'error',
    summary: 'The script is not an https, git or oci reference.',
    fix: 'Write `https://…`, `git::https://…//path?ref=…` or `oci://…`.',
  },
  'starlark/unpinned': {
    severity: 'warning',
    summary: 'The reference can later name another script.',
    fix: 'Name a commit or a digest, or at least a release.',
  },
  'starlark/not-in-kep-schema': {
    severity: 'off',
    kep: 'warning',
    summary: 'The text of KEP-2906 describes Starlark, but its schema does not allow it.',
    fix: 'Add a container or exec runtime for readers that follow the schema.',
  },

  'link/form': {
    severity: 'error',
    summary: 'A link is not an absolute URL.',
    fix: 'Write a URL that begins with `https://`.',
  },
  'link/scheme': {
    severity: 'error',
    summary: 'A link has a scheme other than https, http, git or oci. Some run code in a reader’s browser.',
    fix: 'Write a URL that begins with `https://`.',
  },
  'link/credentials': {
    severity: 'error',
    summary: 'A link contains a user name or password, which everyone can read.',
    fix: 'Remove the part before the `@`, and change the password.',
  },
  'link/moving-branch': {
    severity: 'warning',
    summary: 'A link names a branch, so its content changes with later releases.',
    fix: "Name the release's tag or a commit in place of the branch.",
  },
  'license/unknown': {
    severity: 'error',
    summary: 'The license is not an SPDX license expression.',
    fix: 'Use an identifier of spdx.org/licenses, or `LicenseRef-…` for one of your own.',
  },
  'license/not-in-kep-enum': {
    severity: 'off',
    kep: 'info',
    summary:
      "The KEP's schema allows one license, written `Apache 2.0`; readers that follow it reject others.",
    fix: 'Nothing: this is a known error in the schema. Registries use SPDX expressions.',
  },

  'placeholder/marked': {
    severity: 'error',
    kep: 'warning',
    summary: 'A comment `# CHANGE:` of `krmhub init` is left, so the value below it is a placeholder.',
    fix: 'Write the requested value, and remove the comment.',
  },
  'placeholder/digest': {
    severity: 'error',
    kep: 'warning',
    summary: 'A digest is all zeros: a placeholder that no file has.',
    fix: 'Write the digest of the image or of the downloaded file.',
  },

  'text/control-character': {
    severity: 'error',
    summary: 'A string contains control characters, which can rewrite a terminal.',
    fix: 'Remove them.',
  },
  'text/unpaired-surrogate': {
    severity: 'error',
    summary: 'A string contains half of a surrogate pair, which is not valid Unicode.',
    fix: 'Write the character itself, or both halves of its escape.',
  },
  'text/bidi-control': {
    severity: 'error',
    summary: 'A string contains characters that reverse the reading order, so it shows as something else.',
    fix: 'Remove them.',
  },
  'text/filter-too-long': {
    severity: 'error',
    summary: 'A tag, publisher or license is longer than 253 characters, so no search could filter by it.',
    fix: 'Shorten it.',
  },
  'text/too-long': {
    severity: 'error',
    summary: 'A string is longer than 10,000 characters, or a name longer than 500.',
    fix: 'Shorten it; long texts belong in the document that `usage` names.',
  },

  ...SCHEMA_RULES,

  'catalog/duplicate-version': {
    severity: 'warning',
    summary: 'A catalog has the same group, kind and API version twice. The first wins (KEP-2906).',
    fix: 'Remove the later one.',
  },
  'catalog/kind-case': {
    severity: 'error',
    summary: 'Two kinds of one group differ only in upper and lower case.',
    fix: 'Use one spelling, or another name.',
  },
  'lint/more': {
    severity: 'info',
    summary: 'There are more findings than are listed. The severity is that of the worst one.',
    fix: 'Fix the listed findings, and lint again.',
  },
} as const satisfies Record<string, LintRule>;

export type RuleCode = keyof typeof LINT_RULES;
