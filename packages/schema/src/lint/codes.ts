import type { Severity } from '../diagnostics/diagnostic.js';

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
  'text/bidi-control': {
    severity: 'error',
    summary: 'A string contains characters that reverse the reading order, so it shows as something else.',
    fix: 'Remove them.',
  },
  'text/too-long': {
    severity: 'error',
    summary: 'A string is longer than 10,000 characters, or a name longer than 500.',
    fix: 'Shorten it; long texts belong in the document that `usage` names.',
  },

  'schema/unknown-type': {
    severity: 'error',
    summary: 'A `type` that is none of array, boolean, integer, number, object and string.',
    fix: 'Use one of the six; `bool` is `boolean`.',
  },
  'schema/forbidden-keyword': {
    severity: 'error',
    summary: 'A keyword that structural schemas forbid, such as `$ref`.',
    fix: 'Replace it as the message says.',
  },
  'schema/unknown-keyword': {
    severity: 'warning',
    summary: 'A keyword that OpenAPI v3 schemas of Kubernetes do not have. Readers ignore it.',
    fix: 'Correct the spelling, or remove it.',
  },
  'schema/keyword-value': {
    severity: 'error',
    summary: 'The value of a keyword has the wrong type.',
    fix: 'Write a value of the type that the message names.',
  },
  'schema/root-type': {
    severity: 'error',
    summary: 'The root of the schema is not an object; a functionConfig always is.',
    fix: 'Write `type: object` at the root.',
  },
  'schema/root-restriction': {
    severity: 'error',
    summary: 'The root of the schema has `additionalProperties` or `nullable`.',
    fix: 'Remove it; declare the fields in `properties`.',
  },
  'schema/missing-type': {
    severity: 'warning',
    summary: 'A part of the schema has no `type`, so it accepts values of every type.',
    fix: 'Add the type.',
  },
  'schema/array-without-items': {
    severity: 'warning',
    summary: 'An array does not say what its items are.',
    fix: 'Add `items`.',
  },
  'schema/properties-and-map': {
    severity: 'warning',
    summary: '`additionalProperties` is next to `properties`, or is `false`. Kubernetes rejects both.',
    fix: 'Keep one: `properties` for named fields, `additionalProperties` for a map. Objects with `properties` are already closed.',
  },
  'schema/meta-type': {
    severity: 'error',
    summary: '`apiVersion` or `kind` is not a string, or `metadata` is not an object.',
    fix: 'Correct the type, or leave the field out: every resource has it.',
  },
  'schema/meta-restriction': {
    severity: 'warning',
    summary:
      '`metadata` at the root restricts more than `name` and `generateName`, which Kubernetes rejects.',
    fix: 'Keep only the properties `name` and `generateName`.',
  },
  'schema/junctor-keyword': {
    severity: 'warning',
    summary: 'A keyword is inside allOf, anyOf, oneOf or not that structural schemas forbid there.',
    fix: 'Move it to the field itself.',
  },
  'schema/junctor-undeclared': {
    severity: 'warning',
    summary: 'A field is named only inside allOf, anyOf, oneOf or not.',
    fix: 'Declare it with its type in `properties` too.',
  },
  'schema/extension': {
    severity: 'error',
    summary: 'An `x-kubernetes-` keyword has a wrong value, or is where it has no effect.',
    fix: 'Correct or remove it; the message says what it needs.',
  },
  'schema/list-type': {
    severity: 'error',
    summary: '`x-kubernetes-list-type` and its map keys do not fit the items.',
    fix: 'Make the keys declared, scalar and required; make the items of a set atomic.',
  },
  'schema/pattern': {
    severity: 'error',
    summary: 'A pattern is not a valid RE2 regular expression, which consumers written in Go use.',
    fix: 'Avoid look-around and back-references.',
  },
  'schema/pattern-cost': {
    severity: 'error',
    summary: 'A pattern is longer than 1,000 characters, or all patterns together cost too much to compile.',
    fix: 'Shorten the patterns, or use smaller repeat counts.',
  },
  'schema/default': {
    severity: 'error',
    summary: 'A default is not valid under its own schema.',
    fix: 'Correct the default or the schema.',
  },
  'schema/default-required': {
    severity: 'warning',
    summary: 'A required field has a default. Some consumers do not apply defaults and require the field.',
    fix: 'Remove the field from `required`, or remove the default.',
  },
  'schema/default-unchecked': {
    severity: 'warning',
    summary: 'The schemas that have defaults are too large to check the defaults.',
    fix: 'Move the defaults closer to the fields they are for.',
  },
  'schema/nullable-enum': {
    severity: 'warning',
    summary:
      '`nullable: true` is next to an `enum` without null. Readers disagree on whether null is allowed.',
    fix: 'Add null to the enum, or remove `nullable`.',
  },
  'schema/number-for-integer': {
    severity: 'warning',
    summary: 'A number has an integer format.',
    fix: 'Write `type: integer`.',
  },
  'schema/required-undeclared': {
    severity: 'warning',
    summary: '`required` names a field that `properties` does not declare.',
    fix: 'Declare the field, or correct the name.',
  },
  'schema/empty-range': {
    severity: 'error',
    summary: 'A lower bound is above its upper bound, so no value is valid.',
    fix: 'Correct the bounds.',
  },
  'schema/prototype-name': {
    severity: 'error',
    summary:
      'A field is named `__proto__`, `constructor` or `prototype`, which can be used to attack JavaScript readers.',
    fix: 'Choose another name.',
  },
  'schema/open': {
    severity: 'warning',
    summary: 'The schema accepts any functionConfig, so nothing checks what users write.',
    fix: 'Declare the fields in `properties`.',
  },
  'schema/undescribed': {
    severity: 'info',
    summary: 'Fields of the schema have no description.',
    fix: 'Add a `description` to each field; it is the reference that users read.',
  },
  'schema/too-large': {
    severity: 'error',
    summary: 'The schema has more than 20,000 parts; the rest is not checked.',
    fix: 'Reduce the size of the schema.',
  },

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
