import { type CodeEntry, error, warning } from '@krmhub/yaml/code-entry';

/** The codes of problems that the converters report. */
export const CONVERT_CODES = {
  'convert/unknown-document': error(
    'The type of the document is not supported, or differs from --from.',
    'Use a KRM function definition or catalog, kpt function metadata, a kpt function list, a Porch FunctionConfig, or a Krew plugin manifest.',
  ),
  'convert/no-image': error(
    'The function metadata has no image.',
    'Set image to the full name of the image, or use --image.',
  ),
  'convert/image': error(
    'The image is not a valid image reference.',
    'Use HOST/PATH:TAG or HOST/PATH@DIGEST.',
  ),
  'convert/no-release': error(
    'The image has no tag, and the release is unknown.',
    'Set the release with --release, or convert from a folder with a name such as v0.3.',
  ),
  'convert/release': error('The release is not a SemVer version.', 'Use a version such as v1.2.3 or v0.3.'),
  'convert/release-differs': warning(
    'The release and the image tag differ. The tag stays in the definition.',
    'Check which one is correct. Set the release with --release.',
  ),
  'convert/name': error(
    'The name of the document cannot be converted to a kind.',
    'Use a name of letters, digits, and dashes that begins with a letter.',
  ),
  'convert/no-platform': error(
    'None of the platforms is supported in a definition.',
    'Provide the executable for linux, darwin, or windows on amd64 or arm64.',
  ),
  'convert/no-group': error(
    'The group is missing and cannot be derived from a URL or the image.',
    'Set the group with --group.',
  ),
  'convert/group': warning(
    'The group is derived from a URL or the image.',
    'Check that you own the domain, or set the group with --group.',
  ),
  'convert/publisher': warning(
    'The publisher is missing; it is derived from another value.',
    'Set publisher to the person or organization that owns the function.',
  ),
  'convert/description': warning(
    'The description is missing; the name of the function is used instead.',
    'Set description to one line that says what the function does.',
  ),
  'convert/usage': warning(
    'The usage document is missing; another document is used instead.',
    'Set usage to the URL of a README.md.',
  ),
  'convert/examples': warning(
    'The examples are missing; another document is used instead.',
    'Add the URL of at least one example to examples.',
  ),
  'convert/idempotent': warning(
    'The source does not state whether the function is idempotent; false is used.',
    'Set idempotent to true if a second run changes nothing.',
  ),
  'convert/schema': warning(
    'The schema is unknown; a schema that accepts any object is used.',
    'Declare the fields of the functionConfig in schema.openAPIV3Schema.',
  ),
  'convert/license': warning(
    'The license is missing; LicenseRef-unknown is used.',
    'Set license to an SPDX expression such as Apache-2.0.',
  ),
  'convert/registry': warning(
    'The image has no registry; the Docker default is added.',
    'Check the registry, and add it to image.',
  ),
  'convert/version': warning(
    'An API version without a runtime is omitted, because nothing can run it.',
    'Set runtime to a container, exec, or starlark runtime.',
  ),
  'convert/runtime': warning(
    'The runtime is missing; the given image is used.',
    'Check that the image has this function.',
  ),
  'convert/placeholder': warning(
    'An optional field contains a placeholder such as <hash> and is omitted.',
    'Set the value, or remove the field.',
  ),
  'convert/clash': error(
    'Several files define the same function and release differently.',
    'Convert only the file that you need, or convert the others to another folder with --out.',
  ),
  'convert/not-a-function': warning(
    'A Krew plugin is a command for users. Its manifest does not state that it reads a ResourceList.',
    'Publish the definition only if the program is also a KRM function.',
  ),
  'convert/platform': warning(
    'A platform that a definition does not support is omitted.',
    'No action is required. Definitions support linux, darwin, and windows on amd64 and arm64.',
  ),
  'convert/bin': warning(
    'The plugin copies files during installation, so the path of the executable in the archive is a guess.',
    'Compare bin with the paths in the archive.',
  ),
  'convert/dropped-field': warning(
    'A field that definitions do not have is omitted.',
    'If you need the value, set it in another field of the definition.',
  ),
} as const satisfies Record<string, CodeEntry>;

export type ConvertCode = keyof typeof CONVERT_CODES;
