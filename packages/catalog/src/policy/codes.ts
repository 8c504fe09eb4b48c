import type { Severity } from '@krmhub/schema';

/** What is refused of a signing policy beside what the YAML reader refuses. */
export const POLICY_CODES = {
  'policy/document': {
    severity: 'error',
    summary: 'The file does not contain SigningPolicies of `krmhub.dev/v1alpha1`, one per document.',
    fix: 'Begin each document with `apiVersion: krmhub.dev/v1alpha1` and `kind: SigningPolicy`.',
  },
  'policy/missing-field': {
    severity: 'error',
    summary: 'A required field is missing.',
    fix: 'Add the field.',
  },
  'policy/unknown-field': {
    severity: 'error',
    summary: 'The field does not exist in a policy.',
    fix: 'Correct the spelling, or remove the field.',
  },
  'policy/wrong-type': {
    severity: 'error',
    summary: 'The value has the wrong type.',
    fix: 'Write a value of the type that the message names.',
  },
  'policy/limit': {
    severity: 'error',
    summary: 'Something in the policies exceeds its limit.',
    fix: 'Shorten it, or split it into several policies.',
  },
  'policy/name': {
    severity: 'error',
    summary: 'The name of a policy is not a DNS label, or is used twice.',
    fix: 'Use at most 63 lower-case letters, digits and dashes, and another name for each policy.',
  },
  'policy/group': {
    severity: 'error',
    summary: 'A glob matches no group.',
    fix: 'Write a group, or one with `*` for any characters: `example.com`, `*.example.com`, `*`.',
  },
  'policy/release-range': {
    severity: 'error',
    summary: 'The release range is not a valid npm semver range.',
    fix: 'Write a range such as `>=1.0.0 <2.0.0`; leave it out for every release.',
  },
  'policy/signer': {
    severity: 'error',
    summary:
      'A signer is neither a key nor an identity, or both, or an identity without its issuer or subject.',
    fix: 'Give `key`, or `issuer` with `subject` or `subjectPattern`.',
  },
  'policy/key': {
    severity: 'error',
    summary: 'The key of a signer is not a public key.',
    fix: 'Paste the file that ends in .pub, as `krmhub keygen` writes it.',
  },
  'policy/pattern': {
    severity: 'error',
    summary: 'A subject pattern is not anchored at both ends, or is not a valid RE2 regular expression.',
    fix: 'Write the whole subject between `^` and `$`, with a backslash before each dot.',
  },
  'policy/catalog-url': {
    severity: 'error',
    summary:
      'The URL of a trusted catalog is not an http or https URL, or another trusted catalog has the same URL.',
    fix: 'Write the URL of the catalog, `https://HOST/catalogs/NAME`, without a password.',
  },
  'policy/catalog-name': {
    severity: 'error',
    summary: 'The name of a trusted catalog is not a DNS label.',
    fix: 'Write the name of the catalog as its registry lists it, such as `default`.',
  },
  'policy/unnamed-catalog': {
    severity: 'warning',
    summary:
      'The URL of a trusted catalog does not contain its name, so every catalog that its key signs is accepted there.',
    fix: 'Add the name in the signature, such as `catalog: default`, or `--catalog default` to `krmhub trust add`.',
  },
  'policy/time': {
    severity: 'error',
    summary: 'A time is not valid, or a validity period ends before it begins.',
    fix: 'Write an RFC 3339 time in UTC, such as `2027-01-31T00:00:00Z`.',
  },
  'policy/broad-pattern': {
    severity: 'warning',
    summary: 'A subject pattern also matches subjects that an attacker can get.',
    fix: 'Write all that is known of the subject, and allow only what varies: `v[0-9.]+`, or `[^/@]+` for one part.',
  },
  'policy/unescaped-dot': {
    severity: 'warning',
    summary: 'A dot in a subject pattern has no backslash, so it matches any character.',
    fix: 'Write a backslash before each dot: `\\.`',
  },
  'policy/broad-group': {
    severity: 'warning',
    summary:
      'The last `*` of a glob is not followed by a dot and at least two labels, so it also matches groups of others.',
    fix: 'Write a whole domain after the dot: `example.com` and `*.example.com`, as two groups.',
  },
  'policy/literal-wildcard': {
    severity: 'warning',
    summary: 'An issuer or a subject contains `*`, which stands for itself there.',
    fix: 'Write the whole issuer; for several subjects use `subjectPattern`.',
  },
  'policy/insecure-issuer': {
    severity: 'warning',
    summary: 'An issuer is an http URL.',
    fix: 'Use the https URL of the identity provider, as it is in the certificate.',
  },
  'policy/empty-range': {
    severity: 'warning',
    summary: 'The release range contains no release, so the policy protects none.',
    fix: 'Correct the range, such as `>=1.0.0 <2.0.0`; leave it out for every release.',
  },
} as const satisfies Record<`policy/${string}`, { severity: Severity; summary: string; fix: string }>;

export type PolicyCode = keyof typeof POLICY_CODES;
