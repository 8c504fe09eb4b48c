/** What an upgrade of a function means for its users, the most important first, with the words for it. */
export const CHANGE_KINDS = {
  breaking: 'breaking',
  'new-permission': 'new permission',
  'other-signer': 'other signer',
  'other-registry': 'other image registry',
  review: 'to review',
  'new-field': 'new field',
  patch: 'patch',
} as const;

export type ChangeKind = keyof typeof CHANGE_KINDS;
