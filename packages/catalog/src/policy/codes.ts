import { type CodeEntry, error, warning } from '@krmhub/yaml/code-entry';

/** The codes of policy errors, in addition to YAML errors. */
export const POLICY_CODES = {
  'policy/document': error(
    'The file does not contain SigningPolicies of `krmhub.dev/v1alpha1`, one per document.',
    'Begin each document with `apiVersion: krmhub.dev/v1alpha1` and `kind: SigningPolicy`.',
  ),
  'policy/missing-field': error('A required field is missing.', 'Add the field.'),
  'policy/unknown-field': error(
    'The field does not exist in a policy.',
    'Correct the spelling, or remove the field.',
  ),
  'policy/wrong-type': error('The value has the wrong type.', 'Use a value of the type in the message.'),
  'policy/limit': error(
    'A text or a list in the policies exceeds its limit.',
    'Shorten it, or split it into several policies.',
  ),
  'policy/name': error(
    'The name of a policy is not a DNS label, or is not unique.',
    'Use a unique name of at most 63 lower-case letters, digits, and dashes.',
  ),
  'policy/group': error(
    'A glob cannot match any group.',
    'Use a group such as `example.com`, or a glob such as `*.example.com` or `*`.',
  ),
  'policy/release-range': error(
    'The release range is not a valid npm semver range.',
    'Use a range such as `>=1.0.0 <2.0.0`. Remove it to cover every release.',
  ),
  'policy/signer': error(
    'A signer must have either a key, or an identity with an issuer and a subject.',
    'Set `key`, or `issuer` with `subject`, `subjectPattern`, or `repositoryId`.',
  ),
  'policy/source': error(
    'What a signer requires of the source is not in the form of certificates.',
    'Use the form in the message.',
  ),
  'policy/attestation': error(
    'An attestation that a policy requires has an unknown type, or a field of another type.',
    'Use `type: provenance` with `builder` and `repository`, `type: tests`, or `type: sbom`.',
  ),
  'policy/threshold': error(
    'A policy requires more signers than it lists, or says twice how many.',
    'Set `atLeast` to at most the number of signers, or `requireAll: true`.',
  ),
  'policy/key': error(
    'The key of a signer is not a public key.',
    'Paste the content of the .pub file from `krmhub keygen`.',
  ),
  'policy/pattern': error(
    'A subject pattern is not anchored at both ends, or is not a valid RE2 regular expression.',
    'Match the whole subject between `^` and `$`, with a backslash before each dot.',
  ),
  'policy/catalog-url': error(
    'The URL of a trusted catalog is not an http or https URL, or another trusted catalog has the same URL.',
    'Use the URL of the catalog, `https://HOST/catalogs/NAME`, without a password.',
  ),
  'policy/catalog-reference': error(
    'A catalog of a CatalogTrust is not a URL, a git or OCI reference, or an absolute path, or a second one is official.',
    'Use a reference as for `--trusted-catalog`, for example `https://HOST/catalogs/NAME`.',
  ),
  'policy/catalog-name': error(
    'The name of a trusted catalog is not a DNS label.',
    'Use the name of the catalog in its registry, for example `default`.',
  ),
  'policy/unnamed-catalog': warning(
    'The URL of a trusted catalog has no catalog name, so krmhub accepts every catalog that the key signs.',
    'Add the name of the catalog, for example `catalog: default`, or use `--catalog default` with `krmhub trust add`.',
  ),
  'policy/time': error(
    'A time is not valid, or a validity period ends before it begins.',
    'Use an RFC 3339 time in UTC, such as `2027-01-31T00:00:00Z`.',
  ),
  'policy/broad-pattern': warning(
    'A subject pattern also matches subjects that an attacker can obtain.',
    'Make the pattern specific. Use `v[0-9.]+` or `[^/@]+` only for the parts that vary.',
  ),
  'policy/reusable-name': warning(
    'A signer of a CI provider is trusted by names. If the repository or its owner is deleted, others can register them.',
    'Add `repositoryId` and `ownerId` to the signer.',
  ),
  'policy/broad-source': warning(
    'A signer is trusted for builds that other people can start, such as those of pull requests.',
    'Add `ref: refs/tags/*`, `ref: refs/heads/main`, or an `environment` that requires reviewers.',
  ),
  'policy/unescaped-dot': warning(
    'A dot in a subject pattern has no backslash, so it matches any character.',
    'Add a backslash before each dot: `\\.`',
  ),
  'policy/broad-group': warning(
    'The last `*` of a glob is followed by a public suffix such as `com` or `co.uk`, or not by a dot, so it also matches groups of other owners.',
    'Use a full domain after the dot: `example.com` and `*.example.com`, as two groups.',
  ),
  'policy/literal-wildcard': warning(
    'An issuer or a subject contains `*`, which is not a wildcard there.',
    'Use the full issuer. For several subjects, use `subjectPattern`.',
  ),
  'policy/insecure-issuer': warning(
    'An issuer is an http URL.',
    'Use the https URL of the identity provider from the certificate.',
  ),
  'policy/issuer-url': warning(
    'An issuer is not a URL.',
    'Use the https URL of the identity provider from the certificate.',
  ),
  'policy/empty-range': warning(
    'The release range cannot match any release, so the policy has no effect.',
    'Use a range such as `>=1.0.0 <2.0.0`. Remove it to cover every release.',
  ),
} as const satisfies Record<`policy/${string}`, CodeEntry>;

export type PolicyCode = keyof typeof POLICY_CODES;
