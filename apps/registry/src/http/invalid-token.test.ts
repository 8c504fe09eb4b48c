import { describe, expect, it } from 'vitest';
import { invalidToken } from './invalid-token.js';

describe('the challenge for a token that counts as none', () => {
  it('says why, in one line of ASCII without quotes', () => {
    expect(invalidToken('the token "ä\\\n" is revoked')).toBe(
      `Bearer error="invalid_token", error_description="the token '???' is revoked"`,
    );
  });

  it('does not call a token invalid that may count again in a minute', () => {
    expect(invalidToken('the token "a" is of someone', { isAway: true })).toBe(
      `Bearer error="temporarily_unavailable", error_description="the token 'a' is of someone"`,
    );
  });
});
