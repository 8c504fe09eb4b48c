import type { Severity } from '../diagnostics/diagnostic.js';
import { SCHEMA_RULES } from './structural/codes.js';

/** The problem that a rule finds, its severity in each ruleset, and the fix. */
export interface LintRule {
  severity: Severity | 'off';
  /** The severity in the ruleset `kep`, if different. */
  kep?: Severity | 'off';
  summary: string;
  fix: string;
}

/** The codes of the lint rules. An error misleads or breaks users; a warning does not. */
export const LINT_RULES = {
  'shape/missing-field': {
    severity: 'error',
    summary: 'A required field is missing or has no value.',
    fix: 'Add the field. The message describes it.',
  },
  'shape/wrong-type': {
    severity: 'error',
    summary: 'The value has the wrong type.',
    fix: 'Use a value of the type in the message.',
  },
  'shape/unknown-field': {
    severity: 'error',
    summary:
      'The field does not exist in a KRM function definition. Strict parsers reject the whole document.',
    fix: 'Correct the spelling, or remove the field.',
  },
  'shape/unknown-value': {
    severity: 'error',
    summary: 'The field does not allow this value.',
    fix: 'Use one of the values in the message.',
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
    summary:
      'The kind contains other characters than letters, digits, and dashes, or is longer than 63 characters.',
    fix: 'Use a name such as `SetLabels`.',
  },
  'names/kind-case': {
    severity: 'warning',
    summary: 'The kind is not in PascalCase, the Kubernetes convention.',
    fix: 'Use PascalCase: `SetLabels` instead of `set-labels`.',
  },
  'names/version': {
    severity: 'error',
    summary: 'The name of an API version is not a DNS label.',
    fix: 'Use `v1`, `v1beta1`, or `v1alpha1`. The release of the function is not an API version.',
  },
  'names/version-form': {
    severity: 'warning',
    summary:
      'The name of an API version does not follow the Kubernetes pattern, such as `v1beta1`, so it sorts last.',
    fix: 'Use `v1`, `v1beta1`, or `v1alpha1`.',
  },
  'names/duplicate-version': {
    severity: 'error',
    summary: 'An API version appears twice in one definition. Tools use the first.',
    fix: 'Remove or rename one of them.',
  },
  'description/one-line': {
    severity: 'warning',
    summary: 'The description has more than one line. Lists show only one.',
    fix: 'Use one line. Move details to the `usage` document.',
  },
  'description/length': {
    severity: 'warning',
    summary: 'The description is longer than 200 characters.',
    fix: 'Shorten it. Move details to the `usage` document.',
  },
  'tags/form': {
    severity: 'warning',
    summary: 'A tag has leading or trailing spaces, a comma, or more than 50 characters.',
    fix: 'Use one short word or term for each tag.',
  },
  'tags/duplicate': {
    severity: 'warning',
    summary: 'A tag appears twice. Upper and lower case are the same.',
    fix: 'Remove one of them.',
  },

  'runtime/none': {
    severity: 'error',
    summary: 'An API version has no runtime, so nothing can run the function.',
    fix: 'Add `runtime.container`, `runtime.exec`, or `runtime.starlark`.',
  },
  'image/invalid': {
    severity: 'error',
    summary: 'The image is not a valid image reference.',
    fix: 'Use `HOST/PATH:TAG`, for example `ghcr.io/acme/set-labels:v1.2.3`.',
  },
  'image/no-host': {
    severity: 'error',
    summary: 'The image has no registry. The default registry depends on the tool.',
    fix: 'Add the registry, for example `docker.io/acme/set-labels:v1.2.3`.',
  },
  'image/no-tag': {
    severity: 'warning',
    summary: 'The image has neither tag nor digest, so tools pull `latest`, which changes.',
    fix: 'Add the tag of the release, and set `sha256` to the digest.',
  },
  'image/floating-tag': {
    severity: 'warning',
    summary: 'No digest pins the image, and its tag can change, as `latest` and `v1` do.',
    fix: 'Use the tag of the release, and set `sha256` to the digest.',
  },
  'image/unpinned-release': {
    severity: 'warning',
    kep: 'error',
    summary: 'No digest pins the image. Its tag is a release, and KEP-2906 requires `sha256` for it.',
    fix: 'Add `sha256: <64 hexadecimal digits>` next to `image`.',
  },
  'image/no-digest': {
    severity: 'warning',
    summary: 'No digest pins the image, so its tag can move to another image.',
    fix: 'Add `sha256: <64 hexadecimal digits>` next to `image`.',
  },
  'image/other-release': {
    severity: 'warning',
    summary: 'The images have the tag of another release than the one in `--release`.',
    fix: 'Use the image of the release, or correct the release.',
  },
  'image/digest-form': {
    severity: 'error',
    summary: '`sha256` of an image is not 64 lower-case hexadecimal digits.',
    fix: 'Use the digest without `sha256:`, in lower case.',
  },
  'image/digest-mismatch': {
    severity: 'error',
    summary: 'The digest in the image reference and the field `sha256` differ.',
    fix: 'Keep the correct one.',
  },
  'exec/uri': {
    severity: 'error',
    summary: 'The URI of the program is not an https, git, or oci reference.',
    fix: 'Use `https://…`, `git::https://…//PATH?ref=…`, or `oci://…`.',
  },
  'exec/no-digest': {
    severity: 'error',
    summary: 'No digest verifies the program: `sha256` is missing, and the URI has no OCI digest.',
    fix: 'Add `sha256`, or use `oci://HOST/REPOSITORY@sha256:…`.',
  },
  'exec/not-in-kep-schema': {
    severity: 'off',
    kep: 'warning',
    summary: 'The text of KEP-2906 allows an OCI digest instead of `sha256`, but its schema does not.',
    fix: 'Add `sha256` for tools that follow the schema.',
  },
  'exec/bin': {
    severity: 'error',
    summary: 'The path of the program points outside the archive.',
    fix: 'Use a relative path with forward slashes and without `..`.',
  },
  'exec/digest-form': {
    severity: 'error',
    summary: '`sha256` of a program is not 64 lower-case hexadecimal digits.',
    fix: 'Run `sha256sum` on the downloaded file, and copy the digest.',
  },
  'exec/duplicate-platform': {
    severity: 'error',
    summary: 'A combination of operating system and architecture appears twice.',
    fix: 'Keep one program per platform.',
  },
  'starlark/reference': {
    severity: 'error',
    summary: 'The script is not an https, git, or oci reference.',
    fix: 'Use `https://…`, `git::https://…//PATH?ref=…`, or `oci://…`.',
  },
  'starlark/unpinned': {
    severity: 'warning',
    summary:
      'No digest verifies the script, so krmhub does not run it. A release or commit is not sufficient.',
    fix: 'Add the digest: `oci://…@sha256:DIGITS` or `https://…#sha256=DIGITS`.',
  },
  'starlark/not-in-kep-schema': {
    severity: 'off',
    kep: 'warning',
    summary: 'The text of KEP-2906 describes Starlark, but its schema does not allow it.',
    fix: 'Add a container or exec runtime for tools that follow the schema.',
  },

  'link/form': {
    severity: 'error',
    summary: 'A link is not an absolute URL.',
    fix: 'Use a URL that begins with `https://`.',
  },
  'link/scheme': {
    severity: 'error',
    summary: 'A link has a scheme other than https, http, git, or oci. Some schemes run code in the browser.',
    fix: 'Use a URL that begins with `https://`.',
  },
  'link/credentials': {
    severity: 'error',
    summary: 'A link contains a user name or password, which everyone can read.',
    fix: 'Remove the user name and password, and change the password.',
  },
  'link/moving-branch': {
    severity: 'warning',
    summary: 'A link names a branch, so its content changes with later releases.',
    fix: 'Use the tag of the release or a commit instead of the branch.',
  },
  'license/unknown': {
    severity: 'error',
    summary: 'The license is not an SPDX license expression.',
    fix: 'Use an identifier from spdx.org/licenses, or `LicenseRef-…` for your own license.',
  },
  'license/not-in-kep-enum': {
    severity: 'off',
    kep: 'info',
    summary:
      'The schema of KEP-2906 allows only the license `Apache 2.0`. Tools that follow it reject others.',
    fix: 'No action is required. This is a known error in the schema, and registries use SPDX expressions.',
  },

  'placeholder/marked': {
    severity: 'error',
    kep: 'warning',
    summary: 'A `# CHANGE:` comment from `krmhub init` marks the value below it as a placeholder.',
    fix: 'Replace the value, and remove the comment.',
  },
  'placeholder/digest': {
    severity: 'error',
    kep: 'warning',
    summary: 'A digest is all zeros, which is a placeholder.',
    fix: 'Replace it with the digest of the image or of the downloaded file.',
  },

  'text/control-character': {
    severity: 'error',
    summary: 'A string contains control characters, which can change what a terminal shows.',
    fix: 'Remove these characters.',
  },
  'text/unpaired-surrogate': {
    severity: 'error',
    summary: 'A string contains an unpaired surrogate, which is not valid Unicode.',
    fix: 'Use the character itself, or both escapes of its surrogate pair.',
  },
  'text/bidi-control': {
    severity: 'error',
    summary:
      'A string contains bidirectional control characters, so the displayed text can differ from the stored text.',
    fix: 'Remove these characters.',
  },
  'text/filter-too-long': {
    severity: 'error',
    summary: 'A tag, publisher, or license is longer than 253 characters, the limit of search filters.',
    fix: 'Shorten the text.',
  },
  'text/too-long': {
    severity: 'error',
    summary: 'A string is longer than 10,000 characters, or a name is longer than 500.',
    fix: 'Shorten it. Move long texts to the `usage` document.',
  },

  ...SCHEMA_RULES,

  'catalog/duplicate-version': {
    severity: 'warning',
    summary:
      'The same group, kind, and API version appears twice in a catalog. The first entry wins (KEP-2906).',
    fix: 'Remove the second entry.',
  },
  'catalog/kind-case': {
    severity: 'error',
    summary: 'Two kinds of one group differ only in case.',
    fix: 'Use the same spelling, or rename one of them.',
  },
  'lint/more': {
    severity: 'info',
    summary: 'Some findings are not listed. The severity of this finding is that of the worst one.',
    fix: 'Fix the listed findings, and run `krmhub lint` again.',
  },
} as const satisfies Record<string, LintRule>;

export type RuleCode = keyof typeof LINT_RULES;
