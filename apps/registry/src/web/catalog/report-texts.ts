import type { ReportRemark } from '@krmhub/catalog';
import type { RefusalCode } from '@krmhub/schema';

/** Meaning of each part of a report, and the remedy for the author of the recipe. */
export const REMARK_TEXTS: Record<ReportRemark, { title: string; meaning: string; remedy: string }> = {
  refused: {
    title: 'Refused',
    meaning: 'A source provides it, but the recipe or its policy rejects it.',
    remedy: 'Each reason says how to fix it.',
  },
  shadowed: {
    title: 'Shadowed',
    meaning: 'An earlier source of the recipe provides the same API version.',
    remedy:
      'Nothing, if the order of the sources is intended. Otherwise move the source up, or exclude the function from the other source.',
  },
  yanked: {
    title: 'Yanked',
    meaning: 'Releases of this registry that match but are yanked.',
    remedy:
      'Nothing: the catalog serves the newest earlier release, if there is one. See the page of the function for the reason.',
  },
};

/** Meaning of each refusal code, and its remedy. */
export const REFUSAL_TEXTS: Record<RefusalCode, { meaning: string; remedy: string }> = {
  claim: {
    meaning: 'Another source or this registry owns its group.',
    remedy: 'Add the group to the match of the source that may provide it, or exclude it from this one.',
  },
  'kind-case': {
    meaning: 'Its kind differs only by case from a kind of an earlier source.',
    remedy: 'Exclude one of the two.',
  },
  'minimum-age': {
    meaning: 'It has not reached minimumAge yet. The previous entry is served until then.',
    remedy: 'Wait, or set a shorter minimumAge.',
  },
  signature: {
    meaning: 'It has no signature from a signer that requireSignature names, or a policy revokes its signer.',
    remedy: 'Ask the provider to sign it, or add the right signer.',
  },
  digest: {
    meaning: 'requireDigest is set, but an image or script is not pinned by digest.',
    remedy: 'Ask the provider to pin it by digest.',
  },
  network: {
    meaning: 'It requires network access, which allowNetwork forbids.',
    remedy: 'Allow it, or use another function.',
  },
  storage: {
    meaning: 'It requires mounted storage, which allowStorage forbids.',
    remedy: 'Allow it, or use another function.',
  },
  license: {
    meaning: 'Its license is not in the allowed licenses.',
    remedy: 'Add the license, or use another function.',
  },
  denied: { meaning: 'A deny rule of the recipe matches it.', remedy: 'Remove the rule if it is wrong.' },
  rewrite: {
    meaning: 'A rewrite rule produces an invalid reference.',
    remedy: 'Fix the rewrite rule of the source.',
  },
};
