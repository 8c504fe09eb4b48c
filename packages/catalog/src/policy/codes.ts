import type { Severity } from '@krmhub/schema';

/** The codes of policy errors, in addition to YAML errors. */
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
    fix: 'Use a value of the type in the message.',
  },
  'policy/limit': {
    severity: 'error',
    summary: 'A text or a list in the policies exceeds its limit.',
    fix: 'Shorten it, or split it into several policies.',
  },
  'policy/name': {
    severity: 'error',
    summary: 'The name of a policy is not a DNS label, or is not unique.',
    fix: 'Use a unique name of at most 63 lower-case letters, digits, and dashes.',
  },
  'policy/group': {
    severity: 'error',
    summary: 'A glob cannot match any group.',
    fix: 'Use a group such as `example.com`, or a glob such as `*.example.com` or `*`.',
  },
  'policy/release-range': {
    severity: 'error',
    summary: 'The release range is not a valid npm semver range.',
    fix: 'Use a range such as `>=1.0.0 <2.0.0`. Remove it to cover every release.',
  },
  'policy/signer': {
    severity: 'error',
    summary: 'A signer must have either a key, or an identity with an issuer and a subject.',
    fix: 'Set `key`, or `issuer` with `subject` or `subjectPattern`.',
  },
  'policy/key': {
    severity: 'error',
    summary: 'The key of a signer is not a public key.',
    fix: 'Paste the content of the .pub file from `krmhub keygen`.',
  },
  'policy/pattern': {
    severity: 'error',
    summary: 'A subject pattern is not anchored at both ends, or is not a valid RE2 regular expression.',
    fix: 'Match the whole subject between `^` and `$`, with a backslash before each dot.',
  },
  'policy/catalog-url': {
    severity: 'error',
    summary:
      'The URL of a trusted catalog is not an http or https URL, or another trusted catalog has the same URL.',
    fix: 'Use the URL of the catalog, `https://HOST/catalogs/NAME`, without a password.',
  },
  'policy/catalog-reference': {
    severity: 'error',
    summary:
      'A catalog of a CatalogTrust is not a URL, a git or OCI reference, or an absolute path, or a second one is official.',
    fix: 'Use a reference as for `--trusted-catalog`, for example `https://HOST/catalogs/NAME`.',
  },
  'policy/catalog-name': {
    severity: 'error',
    summary: 'The name of a trusted catalog is not a DNS label.',
    fix: 'Use the name of the catalog in its registry, for example `default`.',
  },
  'policy/unnamed-catalog': {
    severity: 'warning',
    summary:
      'The URL of a trusted catalog has no catalog name, so krmhub accepts every catalog that the key signs.',
    fix: 'Add the name of the catalog, for example `catalog: default`, or use `--catalog default` with `krmhub trust add`.',
  },
  'policy/time': {
    severity: 'error',
    summary: 'A time is not valid, or a validity period ends before it begins.',
    fix: 'Use an RFC 3339 time in UTC, such as `2027-01-31T00:00:00Z`.',
  },
  'policy/broad-pattern': {
    severity: 'warning',
    summary: 'A subject pattern also matches subjects that an attacker can obtain.',
    fix: 'Make the pattern specific. Use `v[0-9.]+` or `[^/@]+` only for the parts that vary.',
  },
  'policy/unescaped-dot': {
    severity: 'warning',
    summary: 'A dot in a subject pattern has no backslash, so it matches any character.',
    fix: 'Add a backslash before each dot: `\\.`',
  },
  'policy/broad-group': {
    severity: 'warning',
    summary:
      'The last `*` of a glob is followed by a public suffix such as `com` or `co.uk`, or not by a dot, so it also matches groups of other owners.',
    fix: 'Use a full domain after the dot: `example.com` and `*.example.com`, as two groups.',
  },
  'policy/literal-wildcard': {
    severity: 'warning',
    summary: 'An issuer or a subject contains `*`, which is not a wildcard there.',
    fix: 'Use the full issuer. For several subjects, use `subjectPattern`.',
  },
  'policy/insecure-issuer': {
    severity: 'warning',
    summary: 'An issuer is an http URL.',
    fix: 'Use the https URL of the identity provider from the certificate.',
  },
  'policy/issuer-url': {
    severity: 'warning',
    summary: 'An issuer is not a URL.',
    fix: 'Use the https URL of the identity provider from the certificate.',
  },
  'policy/empty-range': {
    severity: 'warning',
    summary: 'The release range cannot match any release, so the policy has no effect.',
    fix: 'Use a range such as `>=1.0.0 <2.0.0`. Remove it to cover every release.',
  },
} as const satisfies Record<`policy/${string}`, { severity: Severity; summary: string; fix: string }>;

export type PolicyCode = keyof typeof POLICY_CODES;
