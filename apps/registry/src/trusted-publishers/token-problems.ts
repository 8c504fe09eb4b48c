import { type ClaimProblem, type Claims, claimProblem, type Provider } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';

/** Seconds by which clocks may differ. */
export const LEEWAY_SECONDS = 30;
/** Seconds after which a token expires at the latest: until then the registry remembers that it was used. */
const MAX_LIFE_SECONDS = 86_400;

const HINT_CLOCKS = 'Compare the clocks of the registry and of the provider.';

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
    const problem = claimProblem('aud', audience, valueText(aud));
    const found = typeof aud === 'string' ? JSON.stringify(problem.found) : problem.found;
    problems.push({
      ...problem,
      why: 'the token is for another registry',
      sentence: `the token is for the audience ${found}, not for ${JSON.stringify(audience)}`,
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
      problems.push({ ...claimProblem(claim, 'a time in seconds', valueText(value)), why: what, hint });
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
  if (typeof exp === 'number' && Number.isFinite(exp) && exp - now.getTime() / 1000 > MAX_LIFE_SECONDS) {
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

/**
 * Returns why a provider would not have made a token with these claims, of those that are there. One for several
 * registries could be taken to another.
 */
export function formProblem(
  { aud, jti }: Claims,
  { listsAudience, hasTokenIds, title }: Provider,
): TokenProblem | undefined {
  const isListed = listsAudience && Array.isArray(aud) && aud.length === 1;
  if (aud !== undefined && !isText(aud) && !isListed) {
    return {
      ...claimProblem('aud', 'one audience', valueText(aud)),
      why: Array.isArray(aud) ? 'it has a list of audiences' : 'its audience is not a text',
      hint: listsAudience
        ? 'Request a token for this registry alone.'
        : `${title} signs tokens with one audience.`,
    };
  }
  if (!hasTokenIds || jti === undefined || isText(jti)) return undefined;
  return {
    ...claimProblem('jti', 'the ID of the token', valueText(jti)),
    why: `${title} gives each token an ID`,
    hint: 'Send the token as your CI provider returns it.',
  };
}

/** Returns a problem as a client reads it. */
export function withoutHint({ claim, expected, found, why }: TokenProblem): ClaimProblem {
  return { claim, expected, why, ...defined({ found }) };
}

export const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** Returns a claim for people. Others than lists of texts are only named: they can be nested without end. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (!Array.isArray(value)) return 'an object';
  return value.every((item) => typeof item === 'string') ? JSON.stringify(value) : 'a list';
}

/** Returns a time of a token for people. Issuers can write any number. */
function timeText(seconds: number): string {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? String(seconds) : time.toISOString();
}
