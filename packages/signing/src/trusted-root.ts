import { createRequire } from 'node:module';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  type CertificateAuthority,
  TrustedRoot as Root,
  type TransparencyLogInstance,
} from '@sigstore/protobuf-specs';
import { SIGNING_LIMITS } from './limits.js';

/** The trusted certificate authorities, logs and timestamp authorities of a sigstore instance. */
export interface TrustedRoot {
  /** Name in messages. */
  name: string;
  root: Root;
  /** Evidence that keyless signatures must have: one for each kind of log that the instance lists, even if unusable. */
  requires: { log: boolean; certificateLog: boolean };
}

const ANCHORS = ['tlogs', 'ctlogs', 'certificateAuthorities', 'timestampAuthorities'];

/** Parses the JSON of a TrustedRoot. Throws `invalid-document`. */
export function readTrustedRoot(text: string, name: string): TrustedRoot {
  const refused = (reason: string, cause?: unknown) =>
    new KrmhubError('invalid-document', `${name} is not a valid trusted root: ${reason}`, {
      hint: 'Use the trusted_root.json of a sigstore instance. `cosign trusted-root create` creates one.',
      ...defined({ cause }),
    });
  if (text.length > SIGNING_LIMITS.maxTrustedRootBytes) throw refused('it is too long');
  let root: Root;
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json !== 'object' || json === null || Array.isArray(json))
      throw refused('it is not a JSON object');
    // The library treats other values as an empty list, and then would not require the evidence.
    const wrong = ANCHORS.find((field) => !Array.isArray((json as Record<string, unknown>)[field] ?? []));
    if (wrong !== undefined) throw refused(`${wrong} is not a list`);
    root = Root.fromJSON(json);
  } catch (cause) {
    if (cause instanceof KrmhubError) throw cause;
    throw refused('it is invalid', cause);
  }
  if (
    !/^application\/vnd\.dev\.sigstore\.trustedroot(\+json;version=0\.\d|\.v0\.\d\+json)$/.test(
      root.mediaType,
    )
  ) {
    throw refused(`its media type is ${JSON.stringify(root.mediaType.slice(0, 100))}`);
  }
  const requires = { log: root.tlogs.length > 0, certificateLog: root.ctlogs.length > 0 };
  return {
    name,
    requires,
    // Entries without a start of validity are not trusted: the field is required, and a missing one must not mean
    // "always" (protobuf-specs, TransparencyLogInstance and CertificateAuthority).
    root: {
      ...root,
      tlogs: root.tlogs.filter(hasValidityStart),
      ctlogs: root.ctlogs.filter(hasValidityStart),
      certificateAuthorities: root.certificateAuthorities.filter(isUsableAuthority),
      timestampAuthorities: root.timestampAuthorities.filter(isUsableAuthority),
    },
  };
}

let publicGood: TrustedRoot | undefined;

/** Returns the root of the public sigstore instance from the package @sigstore/tuf, without a network request. */
export function publicGoodRoot(): TrustedRoot {
  if (publicGood === undefined) {
    const seeds = createRequire(import.meta.url)('@sigstore/tuf/seeds.json') as Record<
      string,
      { targets: Record<string, string> }
    >;
    const target = seeds['https://tuf-repo-cdn.sigstore.dev']!.targets['trusted_root.json']!;
    publicGood = readTrustedRoot(
      Buffer.from(target, 'base64').toString('utf8'),
      'the public sigstore instance',
    );
  }
  return publicGood;
}

/** Returns a root for bundles that were signed with a key: they need no sigstore instance. */
export function emptyRoot(): TrustedRoot {
  return {
    name: 'no sigstore instance',
    requires: { log: false, certificateLog: false },
    root: { mediaType: '', tlogs: [], ctlogs: [], certificateAuthorities: [], timestampAuthorities: [] },
  };
}

function hasValidityStart({ publicKey }: TransparencyLogInstance): boolean {
  return publicKey?.validFor?.start !== undefined;
}

function isUsableAuthority({ validFor, certChain }: CertificateAuthority): boolean {
  return validFor?.start !== undefined && (certChain?.certificates.length ?? 0) > 0;
}
