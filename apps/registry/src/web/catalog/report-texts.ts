import type { ReportRemark } from '@krmhub/catalog';
import type { RefusalCode } from '@krmhub/schema';

/** Meaning of each part of a report, and the remedy for the author of the recipe. */
export const REMARK_TEXTS: Record<ReportRemark, { title: string; meaning: string; remedy: string }> = {
  refused: {
    title: 'Refused',
    meaning: 'A source provides the entry, but the recipe or its policy rejects it.',
    remedy: 'Each reason says how to fix it.',
  },
  shadowed: {
    title: 'Shadowed',
    meaning: 'An earlier source of the recipe provides the same API version.',
    remedy:
      'If the order of the sources is correct, nothing. Otherwise, move the source up, or exclude the function from the other source.',
  },
  yanked: {
    title: 'Yanked',
    meaning: 'The recipe selects these releases of this registry, but they are yanked.',
    remedy:
      'Nothing: if an earlier release exists, the catalog contains it. The page of the function shows the reason.',
  },
};

/** Meaning of each refusal code, and its remedy. */
export const REFUSAL_TEXTS: Record<RefusalCode, { meaning: string; remedy: string }> = {
  claim: {
    meaning: 'Another source or this registry owns its group.',
    remedy: 'Add the group to the match of the right source, or exclude it from this source.',
  },
  'kind-case': {
    meaning: 'Its kind differs only in case from a kind of an earlier source.',
    remedy: 'Exclude one of the two kinds.',
  },
  'minimum-age': {
    meaning: 'It has not reached minimumAge yet. Until then, the catalog contains the previous entry.',
    remedy: 'Wait, or set a shorter minimumAge.',
  },
  signature: {
    meaning: 'It has no signature from a signer in requireSignature, or a policy revokes its signer.',
    remedy: 'Ask the publisher to sign it, or add the signer to requireSignature.',
  },
  digest: {
    meaning: 'requireDigest is set, but an image or script is not pinned by digest.',
    remedy: 'Ask the publisher to pin it by digest.',
  },
  network: {
    meaning: 'It requires network access, but allowNetwork is false.',
    remedy: 'Allow it in the policy, or use another function.',
  },
  storage: {
    meaning: 'It requires mounted storage, but allowStorage is false.',
    remedy: 'Allow it in the policy, or use another function.',
  },
  license: {
    meaning: 'Its license is not in the allowed licenses.',
    remedy: 'Add the license to the policy, or use another function.',
  },
  denied: { meaning: 'A deny rule of the recipe matches it.', remedy: 'Remove the rule if it is wrong.' },
  rewrite: {
    meaning: 'A rewrite rule produces an invalid reference.',
    remedy: 'Fix the rewrite rule of the source.',
  },
  visibility: {
    meaning: 'Not everybody who may read the catalog may read the function.',
    remedy: 'Exclude it, or give the catalog a narrower visibility in the Access document.',
  },
};
