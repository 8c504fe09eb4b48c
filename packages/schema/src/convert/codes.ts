import type { CodeEntry } from '../yaml/codes.js';

/** What a converter cannot know or say, and the documents it cannot convert. */
export const CONVERT_CODES = {
  'convert/unknown-document': {
    severity: 'error',
    summary: 'The type of the document is not supported, or differs from --from.',
    fix: 'Give a KRM function definition or catalog, function metadata or a function list of kpt, a FunctionConfig of Porch, or a Krew plugin.',
  },
  'convert/no-image': {
    severity: 'error',
    summary: 'The function metadata has no image.',
    fix: 'Add the field image with the full name of the image.',
  },
  'convert/image': {
    severity: 'error',
    summary: 'The image is not a valid image reference.',
    fix: 'Write host/path, with the tag or digest if you know it.',
  },
  'convert/no-release': {
    severity: 'error',
    summary: 'The image has no tag, and the release is unknown.',
    fix: 'Name the release with --release, or convert from a folder named like v0.3.',
  },
  'convert/release': {
    severity: 'error',
    summary: 'The release is not a SemVer version.',
    fix: 'Write a version such as v1.2.3 or v0.3.',
  },
  'convert/release-differs': {
    severity: 'warning',
    summary: 'The release differs from the image tag. The tag is not changed.',
    fix: 'Check which one is correct.',
  },
  'convert/name': {
    severity: 'error',
    summary: 'No kind can be derived from the name of the document.',
    fix: 'Give the document a name of letters, digits and dashes that begins with a letter.',
  },
  'convert/no-platform': {
    severity: 'error',
    summary: 'None of the platforms can be expressed in a definition.',
    fix: 'Provide the executable for linux, darwin or windows on amd64 or arm64.',
  },
  'convert/no-group': {
    severity: 'error',
    summary: 'No group can be derived from a URL or the image.',
    fix: 'Name the group with --group.',
  },
  'convert/group': {
    severity: 'warning',
    summary: 'The group is derived from a URL or the image.',
    fix: 'Check that the domain is yours, or name the group with --group.',
  },
  'convert/publisher': {
    severity: 'warning',
    summary: 'The publisher is missing; it is derived from another value.',
    fix: 'Write the publisher of the function in publisher.',
  },
  'convert/description': {
    severity: 'warning',
    summary: 'The description is missing; the name of the function is used instead.',
    fix: 'Write one line in description.',
  },
  'convert/usage': {
    severity: 'warning',
    summary: 'The usage document is missing; another document is used instead.',
    fix: 'Write the URL of a README.md in usage.',
  },
  'convert/examples': {
    severity: 'warning',
    summary: 'The examples are missing; another document is used instead.',
    fix: 'Write the URL of at least one example in examples.',
  },
  'convert/idempotent': {
    severity: 'warning',
    summary: 'The source does not state whether the function is idempotent; false is used.',
    fix: 'Set idempotent to true if a second run changes nothing.',
  },
  'convert/schema': {
    severity: 'warning',
    summary: 'The schema is unknown; a schema that accepts any object is used.',
    fix: 'Write the fields of the functionConfig in schema.openAPIV3Schema.',
  },
  'convert/license': {
    severity: 'warning',
    summary: 'The license is missing; LicenseRef-unknown is used.',
    fix: 'Write the SPDX expression of the license in license.',
  },
  'convert/registry': {
    severity: 'warning',
    summary: 'The image names no registry; the registry that Docker uses is added.',
    fix: 'Check the registry, and write it in image.',
  },
  'convert/version': {
    severity: 'warning',
    summary: 'An API version without a runtime is omitted, because nothing can run it.',
    fix: 'Write the runtime of the API version in runtime.',
  },
  'convert/placeholder': {
    severity: 'warning',
    summary: 'An optional field with a placeholder such as <hash> is omitted.',
    fix: 'Write the value, or remove the field.',
  },
  'convert/clash': {
    severity: 'error',
    summary: 'Different definitions of one function and release cannot all be written.',
    fix: 'Convert the file that you need by its name, or the others to another folder (--out).',
  },
  'convert/not-a-function': {
    severity: 'warning',
    summary:
      'A Krew plugin is a command for users. Its manifest does not state that it reads a ResourceList.',
    fix: 'Publish the definition only if the program is also a KRM function.',
  },
  'convert/platform': {
    severity: 'warning',
    summary: 'A platform that a definition cannot express is omitted.',
    fix: 'No action is required. Definitions support linux, darwin and windows on amd64 and arm64.',
  },
  'convert/bin': {
    severity: 'warning',
    summary:
      'The plugin copies files at installation, so the path of the executable in the archive is a guess.',
    fix: 'Check bin against the archive.',
  },
  'convert/dropped-field': {
    severity: 'warning',
    summary: 'A field that a definition does not have is omitted.',
    fix: 'If the value matters, write it in a field of the definition.',
  },
} as const satisfies Record<string, CodeEntry>;

export type ConvertCode = keyof typeof CONVERT_CODES;
