import type { ReportRemark } from '@krmhub/catalog';
import type { RefusalCode } from '@krmhub/schema';

/** What each part of a report tells of, and what the one who applies the recipe may do. */
export const REMARK_TEXTS: Record<ReportRemark, { title: string; meaning: string; remedy: string }> = {
  refused: {
    title: 'Refused',
    meaning: 'A source provides it, and the recipe or its policy does not let it pass.',
    remedy: 'Each reason says what it would take.',
  },
  shadowed: {
    title: 'Shadowed',
    meaning:
      'An earlier source of the recipe provides the same API version already, so this one is not used.',
    remedy:
      'Nothing, where the order of the sources is as it is meant. Else put the source before the other one, or leave the function out there with exclude.',
  },
  yanked: {
    title: 'Yanked',
    meaning: 'Releases of this registry that the catalog would have taken, had they not been yanked.',
    remedy:
      'Nothing: the catalog serves the newest release before them, where there is one. The page of the function has the reason.',
  },
};

/** Why something is refused, and the way out. */
export const REFUSAL_TEXTS: Record<RefusalCode, { meaning: string; remedy: string }> = {
  claim: {
    meaning:
      'Its group belongs to somebody else: to the sources whose match names it, or else to this registry.',
    remedy: 'Name the group in the match of the source that may provide it, or exclude it from this one.',
  },
  'kind-case': {
    meaning: 'Its kind differs by case only from one that an earlier source has.',
    remedy: 'Exclude one of the two.',
  },
  'minimum-age': {
    meaning:
      'It has not been known for as long as minimumAge asks; what stood there before is served until then.',
    remedy: 'Wait, or ask for a shorter minimumAge.',
  },
  signature: {
    meaning: 'It is not signed by those whom requireSignature names.',
    remedy: 'Ask who provides it for a signature, or name the right signer.',
  },
  digest: {
    meaning: 'An image or script is not pinned by its digest, which requireDigest asks for.',
    remedy: 'Ask who provides it for a digest.',
  },
  network: {
    meaning: 'It needs the network, which allowNetwork forbids.',
    remedy: 'Allow it, or do without.',
  },
  storage: {
    meaning: 'It needs storage to be mounted, which allowStorage forbids.',
    remedy: 'Allow it, or do without.',
  },
  license: {
    meaning: 'Its licence is not among those that licenses allows.',
    remedy: 'Add it, or do without.',
  },
  denied: { meaning: 'The recipe names it under deny.', remedy: 'Take the rule out, where it is wrong.' },
  rewrite: {
    meaning: 'What rewrite makes of a reference is none any more.',
    remedy: 'Mend the rule of the source.',
  },
};
