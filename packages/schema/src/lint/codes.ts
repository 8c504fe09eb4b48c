import { error, info, warning } from '@krmhub/yaml/code-entry';
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
  'shape/missing-field': error(
    'A required field is missing or has no value.',
    'Add the field. The message describes it.',
  ),
  'shape/wrong-type': error('The value has the wrong type.', 'Use a value of the type in the message.'),
  'shape/unknown-field': error(
    'The field does not exist in a KRM function definition. Strict parsers reject the whole document.',
    'Correct the spelling, or remove the field.',
  ),
  'shape/unknown-value': error(
    'The field does not allow this value.',
    'Use one of the values in the message.',
  ),
  'shape/empty': error('A string or list that must not be empty is empty.', 'Add a value.'),

  'names/group': error(
    'The group is not a DNS name with a dot, or is longer than 253 characters.',
    'Use a domain that you own, in lower case: `fn.example.com`.',
  ),
  'names/kind': error(
    'The kind contains other characters than letters, digits, and dashes, or is longer than 63 characters.',
    'Use a name such as `SetLabels`.',
  ),
  'names/kind-case': warning(
    'The kind is not in PascalCase, the Kubernetes convention.',
    'Use PascalCase: `SetLabels` instead of `set-labels`.',
  ),
  'names/version': error(
    'The name of an API version is not a DNS label.',
    'Use `v1`, `v1beta1`, or `v1alpha1`. The release of the function is not an API version.',
  ),
  'names/version-form': warning(
    'The name of an API version does not follow the Kubernetes pattern, such as `v1beta1`, so it sorts last.',
    'Use `v1`, `v1beta1`, or `v1alpha1`.',
  ),
  'names/duplicate-version': error(
    'An API version appears twice in one definition. Tools use the first.',
    'Remove or rename one of them.',
  ),
  'description/one-line': warning(
    'The description has more than one line. Lists show only one.',
    'Use one line. Move details to the `usage` document.',
  ),
  'description/length': warning(
    'The description is longer than 200 characters.',
    'Shorten it. Move details to the `usage` document.',
  ),
  'tags/form': warning(
    'A tag has leading or trailing spaces, a comma, or more than 50 characters.',
    'Use one short word or term for each tag.',
  ),
  'tags/duplicate': warning('A tag appears twice. Upper and lower case are the same.', 'Remove one of them.'),

  'runtime/none': error(
    'An API version has no runtime, so nothing can run the function.',
    'Add `runtime.container`, `runtime.exec`, or `runtime.starlark`.',
  ),
  'image/invalid': error(
    'The image is not a valid image reference.',
    'Use `HOST/PATH:TAG`, for example `ghcr.io/acme/set-labels:v1.2.3`.',
  ),
  'image/no-host': error(
    'The image has no registry. The default registry depends on the tool.',
    'Add the registry, for example `docker.io/acme/set-labels:v1.2.3`.',
  ),
  'image/no-tag': warning(
    'The image has neither tag nor digest, so tools pull `latest`, which changes.',
    'Add the tag of the release, and set `sha256` to the digest.',
  ),
  'image/floating-tag': warning(
    'No digest pins the image, and its tag can change, as `latest` and `v1` do.',
    'Use the tag of the release, and set `sha256` to the digest.',
  ),
  'image/unpinned-release': {
    ...warning(
      'No digest pins the image. Its tag is a release, and KEP-2906 requires `sha256` for it.',
      'Run `krmhub pin`, which adds the digest as `sha256`.',
    ),
    kep: 'error',
  },
  'image/no-digest': warning(
    'No digest pins the image, so its tag can move to another image.',
    'Run `krmhub pin`, which adds the digest as `sha256`.',
  ),
  'image/other-release': warning(
    'The images have the tag of another release than the one in `--release`.',
    'Use the image of the release, or correct the release.',
  ),
  'image/digest-form': error(
    '`sha256` of an image is not 64 lower-case hexadecimal digits.',
    'Use the digest without `sha256:`, in lower case.',
  ),
  'image/digest-mismatch': error(
    'The digest in the image reference and the field `sha256` differ.',
    'Keep the correct one.',
  ),
  'exec/uri': error(
    'The URI of the program is not an https, git, or oci reference.',
    'Use `https://…`, `git::https://…//PATH?ref=…`, or `oci://…`.',
  ),
  'exec/no-digest': error(
    'No digest verifies the program: `sha256` is missing, and the URI has no OCI digest.',
    'Add `sha256`, or use `oci://HOST/REPOSITORY@sha256:…`.',
  ),
  'exec/not-in-kep-schema': {
    severity: 'off',
    kep: 'warning',
    summary: 'The text of KEP-2906 allows an OCI digest instead of `sha256`, but its schema does not.',
    fix: 'Add `sha256` for tools that follow the schema.',
  },
  'exec/bin': error(
    'The path of the program points outside the archive.',
    'Use a relative path with forward slashes and without `..`.',
  ),
  'exec/digest-form': error(
    '`sha256` of a program is not 64 lower-case hexadecimal digits.',
    'Run `sha256sum` on the downloaded file, and copy the digest.',
  ),
  'exec/duplicate-platform': error(
    'A combination of operating system and architecture appears twice.',
    'Keep one program per platform.',
  ),
  'starlark/reference': error(
    'The script is not an https, git, or oci reference.',
    'Use `https://…`, `git::https://…//PATH?ref=…`, or `oci://…`.',
  ),
  'starlark/unpinned': warning(
    'No digest verifies the script, so krmhub does not run it. A release or commit is not sufficient.',
    'Add the digest: `oci://…@sha256:DIGITS` or `https://…#sha256=DIGITS`.',
  ),
  'starlark/not-in-kep-schema': {
    severity: 'off',
    kep: 'warning',
    summary: 'The text of KEP-2906 describes Starlark, but its schema does not allow it.',
    fix: 'Add a container or exec runtime for tools that follow the schema.',
  },

  'link/form': error('A link is not an absolute URL.', 'Use a URL that begins with `https://`.'),
  'link/scheme': error(
    'A link has a scheme other than https, http, git, or oci. Some schemes run code in the browser.',
    'Use a URL that begins with `https://`.',
  ),
  'link/credentials': error(
    'A link contains a user name or password, which everyone can read.',
    'Remove the user name and password, and change the password.',
  ),
  'link/moving-branch': warning(
    'A link names a branch, so its content changes with later releases.',
    'Use the tag of the release or a commit instead of the branch.',
  ),
  'license/unknown': error(
    'The license is not an SPDX license expression.',
    'Use an identifier from spdx.org/licenses, or `LicenseRef-…` for your own license.',
  ),
  'license/not-in-kep-enum': {
    severity: 'off',
    kep: 'info',
    summary:
      'The schema of KEP-2906 allows only the license `Apache 2.0`. Tools that follow it reject others.',
    fix: 'No action is required. This is a known error in the schema, and registries use SPDX expressions.',
  },

  'placeholder/marked': {
    ...error(
      'A `# CHANGE:` comment from `krmhub init` marks the value below it as a placeholder.',
      'Replace the value, and remove the comment.',
    ),
    kep: 'warning',
  },
  'placeholder/digest': {
    ...error(
      'A digest is all zeros, which is a placeholder.',
      'Replace it with the digest of the image or of the downloaded file.',
    ),
    kep: 'warning',
  },
  'placeholder/address': {
    ...warning(
      'An address is on example.com, example.net, or example.org, as those of `krmhub init` are.',
      'Replace it with your own address.',
    ),
    kep: 'off',
  },

  'text/control-character': error(
    'A string contains control characters, which can change what a terminal shows.',
    'Remove these characters.',
  ),
  'text/unpaired-surrogate': error(
    'A string contains an unpaired surrogate, which is not valid Unicode.',
    'Use the character itself, or both escapes of its surrogate pair.',
  ),
  'text/bidi-control': error(
    'A string contains bidirectional control characters, so the displayed text can differ from the stored text.',
    'Remove these characters.',
  ),
  'text/filter-too-long': error(
    'A tag, publisher, or license is longer than 253 characters, the limit of search filters.',
    'Shorten the text.',
  ),
  'text/too-long': error(
    'A string is longer than 10,000 characters, or a name is longer than 500.',
    'Shorten it. Move long texts to the `usage` document.',
  ),

  ...SCHEMA_RULES,

  'catalog/duplicate-version': warning(
    'The same group, kind, and API version appears twice in a catalog. The first entry wins (KEP-2906).',
    'Remove the second entry.',
  ),
  'catalog/kind-case': error(
    'Two kinds of one group differ only in case.',
    'Use the same spelling, or rename one of them.',
  ),
  'lint/more': info(
    'Some findings are not listed. The severity of this finding is that of the worst one.',
    'Fix the listed findings, and run `krmhub lint` again.',
  ),
} as const satisfies Record<string, LintRule>;

export type RuleCode = keyof typeof LINT_RULES;
