import type { CodeEntry } from '../yaml/codes.js';

/** The codes of problems that the converters report. */
export const CONVERT_CODES = {
  'convert/unknown-document': {
    severity: 'error',
    summary: 'The type of the document is not supported, or differs from --from.',
    fix: 'Use a KRM function definition or catalog, kpt function metadata, a kpt function list, a Porch FunctionConfig, or a Krew plugin manifest.',
  },
  'convert/no-image': {
    severity: 'error',
    summary: 'The function metadata has no image.',
    fix: 'Set image to the full name of the image, or use --image.',
  },
  'convert/image': {
    severity: 'error',
    summary: 'The image is not a valid image reference.',
    fix: 'Use HOST/PATH:TAG or HOST/PATH@DIGEST.',
  },
  'convert/no-release': {
    severity: 'error',
    summary: 'The image has no tag, and the release is unknown.',
    fix: 'Set the release with --release, or convert from a folder with a name such as v0.3.',
  },
  'convert/release': {
    severity: 'error',
    summary: 'The release is not a SemVer version.',
    fix: 'Use a version such as v1.2.3 or v0.3.',
  },
  'convert/release-differs': {
    severity: 'warning',
    summary: 'The release and the image tag differ. The tag stays in the definition.',
    fix: 'Check which one is correct. Set the release with --release.',
  },
  'convert/name': {
    severity: 'error',
    summary: 'The name of the document cannot be converted to a kind.',
    fix: 'Use a name of letters, digits, and dashes that begins with a letter.',
  },
  'convert/no-platform': {
    severity: 'error',
    summary: 'None of the platforms is supported in a definition.',
    fix: 'Provide the executable for linux, darwin, or windows on amd64 or arm64.',
  },
  'convert/no-group': {
    severity: 'error',
    summary: 'The group is missing and cannot be derived from a URL or the image.',
    fix: 'Set the group with --group.',
  },
  'convert/group': {
    severity: 'warning',
    summary: 'The group is derived from a URL or the image.',
    fix: 'Check that you own the domain, or set the group with --group.',
  },
  'convert/publisher': {
    severity: 'warning',
    summary: 'The publisher is missing; it is derived from another value.',
    fix: 'Set publisher to the person or organization that owns the function.',
  },
  'convert/description': {
    severity: 'warning',
    summary: 'The description is missing; the name of the function is used instead.',
    fix: 'Set description to one line that says what the function does.',
  },
  'convert/usage': {
    severity: 'warning',
    summary: 'The usage document is missing; another document is used instead.',
    fix: 'Set usage to the URL of a README.md.',
  },
  'convert/examples': {
    severity: 'warning',
    summary: 'The examples are missing; another document is used instead.',
    fix: 'Add the URL of at least one example to examples.',
  },
  'convert/idempotent': {
    severity: 'warning',
    summary: 'The source does not state whether the function is idempotent; false is used.',
    fix: 'Set idempotent to true if a second run changes nothing.',
  },
  'convert/schema': {
    severity: 'warning',
    summary: 'The schema is unknown; a schema that accepts any object is used.',
    fix: 'Declare the fields of the functionConfig in schema.openAPIV3Schema.',
  },
  'convert/license': {
    severity: 'warning',
    summary: 'The license is missing; LicenseRef-unknown is used.',
    fix: 'Set license to an SPDX expression such as Apache-2.0.',
  },
  'convert/registry': {
    severity: 'warning',
    summary: 'The image has no registry; the Docker default is added.',
    fix: 'Check the registry, and add it to image.',
  },
  'convert/version': {
    severity: 'warning',
    summary: 'An API version without a runtime is omitted, because nothing can run it.',
    fix: 'Set runtime to a container, exec, or starlark runtime.',
  },
  'convert/runtime': {
    severity: 'warning',
    summary: 'The runtime is missing; the given image is used.',
    fix: 'Check that the image has this function.',
  },
  'convert/placeholder': {
    severity: 'warning',
    summary: 'An optional field contains a placeholder such as <hash> and is omitted.',
    fix: 'Set the value, or remove the field.',
  },
  'convert/clash': {
    severity: 'error',
    summary: 'Several files define the same function and release differently.',
    fix: 'Convert only the file that you need, or convert the others to another folder with --out.',
  },
  'convert/not-a-function': {
    severity: 'warning',
    summary:
      'A Krew plugin is a command for users. Its manifest does not state that it reads a ResourceList.',
    fix: 'Publish the definition only if the program is also a KRM function.',
  },
  'convert/platform': {
    severity: 'warning',
    summary: 'A platform that a definition does not support is omitted.',
    fix: 'No action is required. Definitions support linux, darwin, and windows on amd64 and arm64.',
  },
  'convert/bin': {
    severity: 'warning',
    summary:
      'The plugin copies files during installation, so the path of the executable in the archive is a guess.',
    fix: 'Compare bin with the paths in the archive.',
  },
  'convert/dropped-field': {
    severity: 'warning',
    summary: 'A field that definitions do not have is omitted.',
    fix: 'If you need the value, set it in another field of the definition.',
  },
} as const satisfies Record<string, CodeEntry>;

export type ConvertCode = keyof typeof CONVERT_CODES;
