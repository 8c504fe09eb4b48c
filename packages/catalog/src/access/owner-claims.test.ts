import { expect, it } from 'vitest';
import { checkedClaim, hasProof, isCheckDue, type OwnerClaimRecord, proofText } from './owner-claims.js';

const DAY = 86_400_000;
const at = (days: number) => new Date(Date.parse('2030-01-01T00:00:00.000Z') + days * DAY);
const claim: OwnerClaimRecord = {
  ...{ group: 'example.com', team: 'a', proof: 'dns' },
  ...{ claimedAt: at(0).toISOString(), claimedBy: 'ci', checkedAt: at(0).toISOString() },
};

it('is a line that names the registry and the team, and nothing else', () => {
  const text = proofText('https://hub.example.net', 'a');
  const proves = (given: string) => hasProof(given, 'https://hub.example.net', 'a');
  expect(proves(text)).toBe(true);
  expect(proves(`other\r\n  ${text.replaceAll(' ', '   ')} \r\n`)).toBe(true);
  for (const wrong of [
    `${text}b`,
    `x${text}`,
    text.replace('hub', 'bub'),
    text.replace('team=a', 'team=A'),
    '',
  ]) {
    expect(proves(wrong), wrong).toBe(false);
  }
});

it('is looked for weekly, each day while it is missing, and the claim ends after two weeks', () => {
  expect([isCheckDue(claim, at(6)), isCheckDue(claim, at(7))]).toEqual([false, true]);
  const missing = checkedClaim(claim, { found: false, problem: 'no record' }, at(7))!;
  expect(missing).toMatchObject({ missingSince: at(7).toISOString(), problem: 'no record' });
  expect([isCheckDue(missing, at(7.5)), isCheckDue(missing, at(8))]).toEqual([false, true]);
  const again = checkedClaim(missing, { found: false, problem: 'no answer' }, at(20))!;
  expect(again).toMatchObject({ missingSince: at(7).toISOString(), problem: 'no answer' });
  expect(checkedClaim(again, { found: true }, at(20.5))).toEqual({
    ...claim,
    checkedAt: at(20.5).toISOString(),
  });
  expect(checkedClaim(again, { found: false, problem: 'no answer' }, at(21))).toBeUndefined();
});

it('is looked for, and missing for at most two weeks, also after a check by a clock that was years ahead', () => {
  const ahead = at(4_000).toISOString();
  expect(isCheckDue({ ...claim, checkedAt: ahead }, at(1))).toBe(true);
  const stored = { ...claim, checkedAt: ahead, missingSince: ahead, problem: 'no record' };
  expect(isCheckDue(stored, at(1))).toBe(true);
  const missing = checkedClaim(stored, { found: false, problem: 'no record' }, at(1))!;
  expect(missing).toMatchObject({ checkedAt: at(1).toISOString(), missingSince: at(1).toISOString() });
  expect(checkedClaim(missing, { found: false, problem: 'no record' }, at(15))).toBeUndefined();
});
