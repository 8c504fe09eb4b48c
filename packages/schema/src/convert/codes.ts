import type { CodeEntry } from '../yaml/codes.js';

/** What a converter cannot know or say, and the documents it cannot convert. */
export const CONVERT_CODES = {
  'convert/unknown-document': {
    severity: 'error',
    summary: 'The document is of no kind that is converted, or not of the kind that --from says.',
    fix: 'Give a KRM function definition or catalog, function metadata of kpt, or a Krew plugin.',
  },
  'convert/no-image': {
    severity: 'error',
    summary: 'The function metadata names no image, so there is nothing to run.',
    fix: 'Add the field image with the full name of the image.',
  },
  'convert/image': {
    severity: 'error',
    summary: 'The image is not a valid image reference.',
    fix: 'Write host/path, with a tag or digest where it is known.',
  },
  'convert/no-release': {
    severity: 'error',
    summary: 'The image has no tag, and no release says which it should have.',
    fix: 'Name the release with --release, or convert from a folder named like v0.3.',
  },
  'convert/release': {
    severity: 'error',
    summary: 'The release is not a SemVer version.',
    fix: 'Write a version such as v1.2.3 or v0.3.',
  },
  'convert/release-differs': {
    severity: 'warning',
    summary: 'The release differs from the tag of the image, which is kept.',
    fix: 'Check which of the two is right.',
  },
  'convert/name': {
    severity: 'error',
    summary: 'The document has no name from which a kind can be made.',
    fix: 'Give the document a name of letters, digits and dashes that begins with a letter.',
  },
  'convert/no-platform': {
    severity: 'error',
    summary: 'None of the platforms can be expressed in a definition.',
    fix: 'Offer the program for linux, darwin or windows on amd64 or arm64.',
  },
  'convert/no-group': {
    severity: 'error',
    summary: 'No group can be derived from the home page.',
    fix: 'Name the group with --group.',
  },
  'convert/group': {
    severity: 'warning',
    summary: 'The group is derived from the home page.',
    fix: 'Check that the domain is yours, or name the group with --group.',
  },
  'convert/publisher': {
    severity: 'warning',
    summary: 'The publisher is derived from a URL, an e-mail address or the image.',
    fix: 'Write who publishes the function in publisher.',
  },
  'convert/description': {
    severity: 'warning',
    summary: 'There is no description; the name of the function is used instead.',
    fix: 'Write one line in description.',
  },
  'convert/usage': {
    severity: 'warning',
    summary: 'No document about usage is named; another document is used instead.',
    fix: 'Write the URL of a README.md in usage.',
  },
  'convert/examples': {
    severity: 'warning',
    summary: 'No example is named; another document is used instead.',
    fix: 'Write the URL of at least one example in examples.',
  },
  'convert/no-document': {
    severity: 'error',
    summary: 'There is no URL for usage or examples.',
    fix: 'Add sourceURL or examplePackageURLs to kpt metadata, homepage to a Krew plugin.',
  },
  'convert/idempotent': {
    severity: 'warning',
    summary: 'It is not known whether the function is idempotent; false is written.',
    fix: 'Set idempotent to true if a second run changes nothing.',
  },
  'convert/schema': {
    severity: 'warning',
    summary: 'No schema is known; one that allows every object is written.',
    fix: 'Write the fields of the functionConfig in schema.openAPIV3Schema.',
  },
  'convert/license': {
    severity: 'warning',
    summary: 'No license is named; LicenseRef-unknown is written.',
    fix: 'Write the SPDX expression of the license in license.',
  },
  'convert/not-a-function': {
    severity: 'warning',
    summary: 'A kubectl plugin is a program for people; nothing says that it reads a ResourceList.',
    fix: 'Publish the definition only if the program is also a KRM function.',
  },
  'convert/platform': {
    severity: 'warning',
    summary: 'A platform that a definition cannot express is left out.',
    fix: 'Nothing has to be done; definitions know linux, darwin and windows on amd64 and arm64.',
  },
  'convert/bin': {
    severity: 'warning',
    summary:
      'The plugin copies files before use, so the path of the program in its archive is not known for sure.',
    fix: 'Check bin against the archive.',
  },
  'convert/dropped-field': {
    severity: 'warning',
    summary: 'A field that a definition does not have is left out.',
    fix: 'Say the same in a field of the definition if it matters.',
  },
} as const satisfies Record<string, CodeEntry>;

export type ConvertCode = keyof typeof CONVERT_CODES;
