import { type ClaimProblem, type Claims, claimProblem, type Provider } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';

/** Seconds by which clocks may differ. */
export const LEEWAY_SECONDS = 30;
/** Seconds after which a token expires at the latest: until then the registry remembers that it was used. */
const MAX_LIFE_SECONDS = 86_400;

export const HINT_CLOCKS = 'Compare the clocks of the registry and of the provider.';

/** What is wrong with a token itself, whatever publishers want. */
export interface TokenProblem extends ClaimProblem {
  why: string;
  hint: string;
  /** A sentence of its own, which names what came. */
  sentence?: string;
}

/**
 * Compares what a token says about itself: for which registry it is, and when. Claims that are absent are not compared,
 * because an owner can ask about some of them.
 */
export function tokenProblems(
  { aud, exp, nbf, iat }: Claims,
  { audience, now }: { audience?: string | undefined; now: Date },
): TokenProblem[] {
  const problems: TokenProblem[] = [];
  if (audience !== undefined && aud !== undefined && !(Array.isArray(aud) ? aud : [aud]).includes(audience)) {
    problems.push({
      ...claimProblem('aud', audience, audienceText(aud)),
      why: 'the token is for another registry',
      sentence: `the token is for the audience ${JSON.stringify(aud)}, not for ${JSON.stringify(audience)}`,
      hint: `Request a token with the audience ${audience}.`,
    });
  }
  const compare = (claim: string, value: unknown, wrong: (seconds: number) => boolean, more: Expectation) => {
    if (value === undefined) return;
    const isNumber = typeof value === 'number' && Number.isFinite(value);
    if (isNumber && !wrong(value)) return;
    const { expected, why, hint } = more;
    if (isNumber) problems.push({ ...claimProblem(claim, expected, timeText(value)), why, hint });
    else {
      const what = `the claim "${claim}" of the token is not valid`;
      problems.push({ ...claimProblem(claim, 'a time in seconds', JSON.stringify(value)), why: what, hint });
    }
  };
  const clock = Math.floor(now.getTime() / 1000);
  const here = `${timeText(clock)}, the time of the registry`;
  compare('nbf', nbf, (time) => time > clock + LEEWAY_SECONDS, {
    ...{ expected: `at most ${here}`, why: 'it is not valid yet', hint: HINT_CLOCKS },
  });
  compare('iat', iat, (time) => time > now.getTime() / 1000 + LEEWAY_SECONDS, {
    ...{ expected: `at most ${here}`, why: 'the token was issued in the future', hint: HINT_CLOCKS },
  });
  compare('exp', exp, (time) => time <= clock - LEEWAY_SECONDS, {
    ...{ expected: `later than ${here}`, why: 'the token has expired' },
    hint: 'Request a new token right before it is needed, and compare the clocks.',
  });
  if (typeof exp === 'number' && exp - now.getTime() / 1000 > MAX_LIFE_SECONDS) {
    problems.push({
      ...claimProblem('exp', `at most a day after ${here}`, timeText(exp)),
      why: 'it is valid for more than a day',
      hint: 'Request a token that is valid for an hour or less.',
    });
  }
  return problems;
}

interface Expectation {
  expected: string;
  why: string;
  hint: string;
}

/** Returns why a provider would not have made a token with this audience. One for several registries could be taken to another. */
export function audienceFormProblem(
  { aud }: Claims,
  { listsAudience, title }: Provider,
): TokenProblem | undefined {
  if (aud === undefined || (typeof aud === 'string' && aud !== '')) return undefined;
  if (listsAudience && Array.isArray(aud) && aud.length === 1) return undefined;
  return {
    ...claimProblem('aud', 'one audience', audienceText(aud)),
    why: 'it has a list of audiences',
    hint: listsAudience
      ? 'Request a token for this registry alone.'
      : `${title} signs tokens with one audience.`,
  };
}

/** Returns a problem as a client reads it. */
export function withoutHint({ claim, expected, found, why }: TokenProblem): ClaimProblem {
  return { claim, expected, why, ...defined({ found }) };
}

const audienceText = (aud: unknown): string => (typeof aud === 'string' ? aud : JSON.stringify(aud));

/** Returns a time of a token for people. Issuers can write any number. */
function timeText(seconds: number): string {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? String(seconds) : time.toISOString();
}
